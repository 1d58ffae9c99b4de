"""Tools and layers above a driver: object mappers, data frames, BI tools, poolers."""
