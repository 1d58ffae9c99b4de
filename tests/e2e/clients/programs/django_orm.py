"""Django with time zones on: introspection, cursors and models."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import django
import task
from django.conf import settings

PLACE = {
    "ENGINE": "django.db.backends.postgresql",
    "HOST": task.HOST,
    "PORT": task.PORT,
    "USER": task.USER,
    "PASSWORD": task.PASSWORD,
    "NAME": "demo",
}
settings.configure(
    USE_TZ=True,
    TIME_ZONE="Europe/Berlin",
    DATABASES={
        "default": {**PLACE, "OPTIONS": task.TLS},
        "bound": {**PLACE, "OPTIONS": {**task.TLS, "server_side_binding": True}},
        "inspected": {**PLACE, "OPTIONS": {**task.TLS, "options": "-c noisegate.empty_rows=on"}},
    },
)
django.setup()

from django.db import DatabaseError, connection, connections, models  # noqa: E402  # settings come first


class Nation(models.Model):
    n_nationkey = models.BigIntegerField(primary_key=True)
    n_name = models.TextField()

    class Meta:
        app_label, managed, db_table = "shop", False, "nation"


class Customer(models.Model):
    c_custkey = models.BigIntegerField(primary_key=True)
    c_nationkey = models.ForeignKey(Nation, models.DO_NOTHING, db_column="c_nationkey")

    class Meta:
        app_label, managed, db_table = "shop", False, "customer"


class Order(models.Model):
    o_orderkey = models.BigIntegerField(primary_key=True)
    o_custkey = models.ForeignKey(Customer, models.DO_NOTHING, db_column="o_custkey")
    o_totalprice = models.DecimalField(max_digits=15, decimal_places=2)
    o_orderdate = models.DateField()

    class Meta:
        app_label, managed, db_table = "shop", False, "orders"


class Moment(models.Model):
    """The same orders to a model that takes their day for a moment."""

    o_orderkey = models.BigIntegerField(primary_key=True)
    o_orderdate = models.DateTimeField()

    class Meta:
        app_label, managed, db_table = "shop", False, "orders"


def tables(_: Sequence[str]) -> list[str]:
    with connection.cursor() as cursor:
        return connection.introspection.table_names(cursor)


def inspected(rest: Sequence[str]) -> str:
    """What `inspectdb` writes of a table, of which it selects a row to know the columns."""
    import io

    from django.core.management import call_command

    written = io.StringIO()
    call_command("inspectdb", *rest, database="inspected", stdout=written)
    return written.getvalue()


def asked(sql: str) -> list[list[object]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return [list(row) for row in cursor.fetchall()]


def prepared(rest: Sequence[str]) -> list[object]:
    found = []
    for value in rest[1:]:
        with connections["bound"].cursor() as cursor:
            cursor.execute(rest[0], [int(value)])
            found.append(cursor.fetchone()[0])
    return found


def counted(database: str) -> list[object]:
    orders = Order.objects.using(database)
    lately = orders.filter(o_orderdate__gte=datetime.date(1995, 1, 1))
    return [
        orders.filter(o_totalprice__gt=1000).count(),
        lately.count(),
        orders.filter(o_custkey__c_nationkey__n_name="FRANCE").count(),
        len(Customer.objects.using(database).values("c_nationkey__n_name").annotate(n=models.Count("*"))),
    ]


def since(rest: Sequence[str]) -> list[object]:
    begin = datetime.datetime(1995, 1, 1, 12, tzinfo=datetime.UTC)
    return [Moment.objects.using(rest[0]).filter(o_orderdate__gte=begin).count()]


def state(refused: DatabaseError) -> str:
    return str(getattr(refused.__cause__, "sqlstate", ""))


def refusal(rest: Sequence[str]) -> str:
    try:
        asked(rest[0])
    except DatabaseError as refused:
        return state(refused)
    return ""


def cancelled(rest: Sequence[str]) -> str:
    connection.ensure_connection()
    task.later(connection.connection.cancel_safe)
    code = refusal(rest)
    asked("SELECT 1")
    return code


task.do(
    {
        "tables": tables,
        "inspected": inspected,
        "rows": lambda statements: [asked(sql) for sql in statements],
        "prepared": prepared,
        "counted": lambda rest: counted(rest[0]),
        "since": since,
        "refusal": refusal,
        "cancelled": cancelled,
    }
)
