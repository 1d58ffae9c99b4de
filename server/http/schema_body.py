"""The body of a schema: what may be asked."""

from __future__ import annotations

from dataclasses import asdict

from pydantic import BaseModel, Field

from server.explain.catalog import Catalog


class ColumnOfTable(BaseModel):
    """A column of a table: its type, its declared range, and whether it may be grouped by."""

    name: str
    type: str
    nullable: bool
    low: float | str | None = Field(description="The declared range's lower end; a day as text.")
    high: float | str | None
    domain: list[str] | None = Field(description="The values that may be group keys, if declared.")
    note: str = Field(description="The same in a few words.")


class JoinOfTable(BaseModel):
    """A foreign key of a table, along which it may be joined."""

    columns: list[str]
    table: str = Field(description="The table that they refer to.")
    key: list[str]
    owning: bool = Field(description="Does the row belong to whom that table's row belongs to?")


class TableOfSchema(BaseModel):
    """A table or view that may be asked: its columns, its keys and its foreign keys."""

    name: str = Field(description="`visit` in schema public, elsewhere `clinic.visit`: no two tables have the same.")
    namespace: str = Field(description="The schema that holds it.")
    sql: str = Field(description="How a question names it.")
    public: bool = Field(description="Answered exactly and free.")
    privacy_unit: bool = Field(description="Is a row of it somebody who is protected?")
    columns: list[ColumnOfTable]
    keys: list[list[str]]
    joins: list[JoinOfTable]
    kind: str = Field("table", description="`table`, or `view`: written out before anything else happens.")


class ExampleBody(BaseModel):
    """A question to begin with."""

    name: str
    sql: str


class SchemaBody(BaseModel):
    """What may be asked. It says nothing of private rows, not even how many there are."""

    dataset: str
    schemas: list[str] = Field(description="Where tables without a schema are looked for, in order.")
    tables: list[TableOfSchema]
    epsilon: float = Field(description="What a query spends that does not say.")
    min_epsilon: float = Field(
        description="The least that one query may spend; a join whose duration depends on the data costs more."
    )
    max_epsilon: float = Field(description="The most that one query may spend.")
    delta: float
    time_grain: str = Field(description="What now() is snapped to.")
    answer_quantum_s: float = Field(
        description="Seconds: the answer of a join that may explode leaves at 1, 2, 4, ... times it; 0: at once."
    )
    hold_all_answers: bool = Field(description="Do the answers of other private questions wait as well?")
    unbounded_joins: bool = Field(description="May private tables meet by other conditions than keys?")
    max_join_tuples: int | None = Field(
        description="A question whose public bound on join tuples is larger, or unknown, is refused; null: none is."
    )
    examples: list[ExampleBody]

    @classmethod
    def of(cls, catalog: Catalog) -> SchemaBody:
        """The body of a catalog."""
        return cls.model_validate(asdict(catalog))
