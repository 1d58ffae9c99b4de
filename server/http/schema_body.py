"""The body of a schema: what may be asked."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import BaseModel, Field

from server.catalog import Catalog


class ColumnOfTable(BaseModel):
    """A column."""

    name: str
    type: str
    nullable: bool
    low: float | str | None = Field(description="The declared range's lower end; a day as text.")
    high: float | str | None
    domain: list[str] | None = Field(description="The values that may be group keys, if declared.")
    note: str = Field(description="The same in a few words.")


class JoinOfTable(BaseModel):
    """A foreign key."""

    columns: list[str]
    table: str = Field(description="The table that they refer to.")
    key: list[str]
    owning: bool = Field(description="Does the row belong to whom that table's row belongs to?")


class TableOfSchema(BaseModel):
    """A table."""

    name: str
    public: bool = Field(description="Answered exactly and free.")
    privacy_unit: bool = Field(description="Is a row of it somebody who is protected?")
    columns: list[ColumnOfTable]
    keys: list[list[str]]
    joins: list[JoinOfTable]


class ExampleBody(BaseModel):
    """A question to begin with."""

    name: str
    sql: str


class SchemaBody(BaseModel):
    """What may be asked. It says nothing of private rows, not even how many there are."""

    dataset: str
    tables: list[TableOfSchema]
    epsilon: float = Field(description="What a query spends that does not say.")
    max_epsilon: float = Field(description="The most that one query may spend.")
    delta: float
    time_grain: str = Field(description="What now() is snapped to.")
    examples: list[ExampleBody]

    @classmethod
    def of(cls, catalog: Catalog) -> SchemaBody:
        """The body of a catalog."""
        return cls.model_validate(asdict(catalog))
