"""The demonstration's catalog: TPC-H with enforced keys, and a graph over the customers."""

from __future__ import annotations

from planner.schema import Column, ForeignKey, Schema, Table

_COLUMNS = {
    "region": "r_regionkey integer, r_name char(25), r_comment varchar(152)",
    "nation": "n_nationkey integer, n_name varchar(25), n_regionkey integer, n_comment varchar(152)",
    "part": "p_partkey bigint, p_name varchar(55), p_mfgr char(25), p_brand char(10), p_type varchar(25), "
    "p_size integer, p_container char(10), p_retailprice numeric(15;2), p_comment varchar(23)",
    "customer": "c_custkey bigint, c_name varchar(25), c_address varchar(40), c_nationkey integer, c_phone char(15), "
    "c_acctbal numeric(15;2), c_mktsegment char(10), c_comment varchar(117)",
    "supplier": "s_suppkey bigint, s_name char(25), s_address varchar(40), s_nationkey integer, s_phone char(15), "
    "s_acctbal numeric(15;2), s_comment varchar(101)",
    "partsupp": "ps_partkey bigint, ps_suppkey bigint, ps_availqty integer, ps_supplycost numeric(15;2), "
    "ps_comment varchar(199)",
    "orders": "o_orderkey bigint, o_custkey bigint, o_orderstatus char(1), o_totalprice numeric(15;2), "
    "o_orderdate date, o_orderpriority char(15), o_clerk char(15), o_shippriority integer, o_comment varchar(79)",
    "lineitem": "l_orderkey bigint, l_partkey bigint, l_suppkey bigint, l_linenumber integer, "
    "l_quantity numeric(15;2), l_extendedprice numeric(15;2), l_discount numeric(15;2), l_tax numeric(15;2), "
    "l_returnflag char(1), l_linestatus char(1), l_shipdate date, l_commitdate date, l_receiptdate date, "
    "l_shipinstruct char(25), l_shipmode char(10), l_comment varchar(44)",
    "knows": "src bigint, dst bigint",
}

_KEYS = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "part": ("p_partkey",),
    "customer": ("c_custkey",),
    "supplier": ("s_suppkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
    "knows": ("src", "dst"),
}

_FOREIGN_KEYS = {
    "nation": (ForeignKey(("n_regionkey",), "region", ("r_regionkey",)),),
    "customer": (ForeignKey(("c_nationkey",), "nation", ("n_nationkey",)),),
    "supplier": (ForeignKey(("s_nationkey",), "nation", ("n_nationkey",)),),
    "partsupp": (
        ForeignKey(("ps_partkey",), "part", ("p_partkey",)),
        ForeignKey(("ps_suppkey",), "supplier", ("s_suppkey",)),
    ),
    "orders": (ForeignKey(("o_custkey",), "customer", ("c_custkey",)),),
    "lineitem": (
        ForeignKey(("l_orderkey",), "orders", ("o_orderkey",)),
        ForeignKey(("l_partkey",), "part", ("p_partkey",)),
        ForeignKey(("l_suppkey",), "supplier", ("s_suppkey",)),
        ForeignKey(("l_partkey", "l_suppkey"), "partsupp", ("ps_partkey", "ps_suppkey")),
    ),
    "knows": (
        ForeignKey(("src",), "customer", ("c_custkey",)),
        ForeignKey(("dst",), "customer", ("c_custkey",)),
    ),
}


def tpch_schema() -> Schema:
    """The nine tables, every column NOT NULL."""
    return Schema({name: _table(name) for name in _COLUMNS})


def _table(name: str) -> Table:
    pairs = [column.split(" ", 1) for column in _COLUMNS[name].split(", ")]
    columns = tuple(Column(column, kind.replace(";", ","), nullable=False) for column, kind in pairs)
    return Table(name, "public", columns, (_KEYS[name],), _FOREIGN_KEYS.get(name, ()), _KEYS[name])
