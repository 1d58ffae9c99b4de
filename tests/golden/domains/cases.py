"""Questions over the hospital: how many groups each has, and nothing else can appear in SQL."""

from __future__ import annotations

from dataclasses import dataclass

_VISITS = "FROM visit v JOIN patient p ON v.patient = p.id"
_DIAGNOSED = "FROM visit v JOIN diagnosis dx ON v.diagnosis = dx.code"
_DRUGS = "FROM visit v JOIN drug d ON v.drug = d.id"


@dataclass(frozen=True)
class Case:
    """A question.

    Attributes:
      sql: group keys first, one aggregate last.
      groups: how many there are.
      where: what else to ask of the database itself, where the policy drops rows: of NULLs without a group.
    """

    sql: str
    groups: int
    where: str = ""


def _count(keys: str, source: str, groups: int, where: str = "") -> Case:
    places = ", ".join(str(place + 1) for place in range(keys.count(";") + 1))
    return Case(f"SELECT {keys.replace(';', ',')}, count(*) {source} GROUP BY {places}", groups, where)


CASES: dict[str, Case] = {
    # keys of one public table, and of several that are joined
    "keys of a public table": _count("d.id; d.name", _DRUGS, 40),
    "three keys of a public table": _count("d.atc; d.id; d.name", _DRUGS, 40),
    "a key beside them": _count("v.ward; d.id; d.name", f"{_DRUGS} WHERE d.id <= 2", 8),
    "keys of two public tables": _count(
        "dx.code; d.id", f"{_DIAGNOSED} JOIN drug d ON d.id = dx.chapter", 60, "v.id > 0"
    ),
    "public NULL": _count("dx.severity", _DIAGNOSED, 4),
    "public NULL replaced": _count("coalesce(dx.severity, 'unknown')", _DIAGNOSED, 4),
    "public pairs": _count("dx.chapter; dx.severity", _DIAGNOSED, 8),
    "a missing right side": _count("dx.chapter", "FROM visit v LEFT JOIN diagnosis dx ON v.diagnosis = dx.code", 9),
    "a missing right side, narrowed": _count(
        "dx.chapter", "FROM visit v LEFT JOIN diagnosis dx ON v.diagnosis = dx.code AND dx.severity = 'mild'", 3
    ),
    "no missing right side": _count(
        "dx.chapter", "FROM visit v LEFT JOIN diagnosis dx ON v.diagnosis = dx.code WHERE dx.severity = 'mild'", 2
    ),
    "a foreign key": _count("v.diagnosis", "FROM visit v", 60, "v.diagnosis IS NOT NULL"),
    "a foreign key, narrowed": _count("v.diagnosis", "FROM visit v WHERE v.diagnosis LIKE 'D1%'", 11),
    # conditions
    "a condition of a public table": _count("d.id; d.name", f"{_DRUGS} WHERE d.atc LIKE 'N01%'", 8),
    "a condition through an equality": _count("d.id", f"{_DRUGS} WHERE v.drug IN (3, 4)", 2),
    "a condition of a domain": _count("v.ward", "FROM visit v WHERE v.ward IN ('A', 'B')", 2),
    "a condition of two domains": _count("v.emergency; v.ward", "FROM visit v WHERE v.emergency OR v.ward = 'A'", 5),
    "a condition of a range": _count("v.days", "FROM visit v WHERE v.days BETWEEN 2 AND 3", 2),
    "months from October": _count(
        "date_trunc('month', v.came)::date", "FROM visit v WHERE v.came >= '2024-10-01'", 3
    ),
    "the year 2024": _count("extract(year FROM v.came)", "FROM visit v WHERE v.came >= '2024-01-01'", 1),
    "a condition of days": _count(
        "extract(month FROM v.came)", "FROM visit v WHERE v.came::date BETWEEN '2023-03-31' AND '2023-05-01'", 3
    ),
    "a condition within a day": _count(
        "v.came::date", "FROM visit v WHERE v.came >= '2024-12-30 12:00' AND v.came < '2024-12-31 12:00'", 2
    ),
    # images
    "months as dashboards write them": _count("date_part('month', v.came)", "FROM visit v", 12),
    "months in doubles": _count("date_part('month', v.came) / 3", "FROM visit v", 12),
    "thirds of months": _count("floor(date_part('month', v.came) / 3); extract(dow FROM v.came)", "FROM visit v", 35),
    "months of years": _count("extract(year FROM v.came) * 100 + extract(month FROM v.came)", "FROM visit v", 36),
    "months of whole years": _count("date_part('year', v.came)::int * 100 + 1", "FROM visit v", 3),
    "a field in a condition": _count(
        "extract(month FROM v.came)", "FROM visit v WHERE date_part('month', v.came) / 2 > 5", 2
    ),
    "decades": _count("floor(extract(year FROM p.birth) / 10) * 10", _VISITS, 9),
    "fives": _count("(v.days / 5) * 5", "FROM visit v", 3),
    "labels and none": _count(
        "CASE WHEN v.days < 5 THEN 'short' WHEN v.days < 10 THEN 'long' END", "FROM visit v", 3
    ),
    "labels of a condition": _count(
        "CASE WHEN v.days < 5 THEN 'short' ELSE 'long' END", "FROM visit v WHERE v.days > 6", 1
    ),
    "upper case": _count("upper(p.city)", _VISITS, 4, "p.city IS NOT NULL"),
    "NULL replaced": _count("coalesce(p.city, 'nowhere')", _VISITS, 5),
    "texts joined": _count("p.city || '-' || p.sex", _VISITS, 8, "p.city IS NOT NULL"),
    "months as dates": _count("date_trunc('month', v.came)::date", "FROM visit v", 36),
    "days": _count("v.came::date", "FROM visit v WHERE v.came >= '2024-12-20'", 12),
    "hours": _count("extract(hour FROM v.came)", "FROM visit v WHERE v.came < '2022-07-01'", 24),
    "weekdays and wards": _count("extract(isodow FROM v.came); v.ward", "FROM visit v", 28),
    "months as texts": _count("to_char(v.came, 'YYYY-MM')", "FROM visit v", 36),
    "quarters as texts": _count("to_char(v.came, 'YYYY \"Q\"Q')", "FROM visit v WHERE v.came >= '2023-01-01'", 8),
    "weekdays by name": _count("to_char(v.came, 'FMDay')", "FROM visit v", 7),
    "weeks as texts": _count("to_char(v.came, 'IYYY-\"W\"IW')", "FROM visit v WHERE v.came < '2022-02-01'", 6),
    "hours as texts": _count("to_char(v.came, 'HH24')", "FROM visit v WHERE v.came < '2022-07-01'", 24),
    "days by their other cast": _count("date(v.came)", "FROM visit v WHERE v.came >= '2024-12-20'", 12),
    "days as texts": _count("v.came::date::text", "FROM visit v WHERE v.came >= '2024-12-20'", 12),
    "ages": _count("extract(year FROM age(date '2024-12-31', p.birth))", _VISITS, 90),
    "ages in tens": _count("floor(date_part('year', age(date '2024-12-31', p.birth)) / 10) * 10", _VISITS, 10),
    "centuries": _count("extract(century FROM p.birth)", _VISITS, 2),
    "width buckets": _count("width_bucket(v.days, 0, 15, 3)", "FROM visit v", 3),
    "width buckets of years": _count("width_bucket(extract(year FROM v.came), 2000, 2030, 10)", "FROM visit v", 2),
    "texts and NULL joined": _count("concat(p.city, '/', p.sex)", _VISITS, 10),
    "texts joined by a sign": _count("concat_ws('/', p.city, p.sex)", _VISITS, 10),
    "a part of a text": _count("split_part(v.kind, 'patient', 1)", "FROM visit v", 4),
    "a text with another part": _count("replace(v.kind, 'out', 'in')", "FROM visit v", 3),
    "a text cut": _count("p.city::varchar(1)", _VISITS, 3, "p.city IS NOT NULL"),
    "days after days": _count(
        "v.came::date + v.days",
        "FROM visit v WHERE v.days BETWEEN 3 AND 4 AND v.came >= '2022-03-01' AND v.came < '2022-03-03'",
        3,
    ),
    "decimals": _count("v.cost", "FROM visit v", 101),
    "decimals of a condition": _count("v.cost", "FROM visit v WHERE v.cost BETWEEN 2.5 AND 3", 6),
    "rounded decimals": _count("round(v.cost * 0.5, 1)", "FROM visit v", 51),
    "doubled decimals": _count("v.cost * 2; v.ward", "FROM visit v WHERE v.cost < 1", 40),
    "a computed key and its column": _count("v.days; v.days / 5", "FROM visit v", 15),
    # NULL
    "a group for NULL": _count("v.kind", "FROM visit v", 4),
    "a computed group for NULL": _count("upper(v.kind)", "FROM visit v", 4),
    "no NULL passes": _count("v.kind", "FROM visit v WHERE v.kind <> 'tele'", 2),
    "a boolean": _count("p.smoker", _VISITS, 2, "p.smoker IS NOT NULL"),
}
