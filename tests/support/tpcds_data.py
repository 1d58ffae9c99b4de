"""Rows for TPC-DS at about scale 0.01: the specification's values and its dirt, few enough for a test.

Days, moments and combinations of demographics are thinned out; every other list is as long as its table is small.
Foreign keys and measures may be NULL, lines without a customer included, and an item has several versions.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from tests.support.tpcds_schema import tpcds_schema

Row = dict[str, object]
Rows = dict[str, list[Row]]

VERSION = "5"
"""Of the rows: raise it when they change."""

_FIRST, _LAST = date(1998, 1, 1), date(2004, 6, 30)
_JULIAN = 2415022 - date(1900, 1, 2).toordinal()
_SOLD_DAYS = 5 * 365
_MINUTES = range(0, 1440, 10)
_ITEMS, _CUSTOMERS, _ADDRESSES = 80, 300, 160

_STATES = ["TN", "TX", "OH", "OR", "NM", "KY", "VA", "MS", "CA", "WA", "GA", "IN", "ND", "OK", "CO", "MN", "IL", "WI",
           "CT", "LA", "IA", "AR", "NJ"]  # fmt: skip
_COUNTIES = ["Williamson County", "Rush County", "Toole County", "Jefferson County", "Dona Ana County",
             "La Porte County", "Orange County", "Bronx County", "Franklin Parish"]  # fmt: skip
_CITIES = ["Fairview", "Midway", "Edgewood", "Oakland", "Pleasant Hill"]
_ZIPS = ["85669", "86197", "88274", "83405", "86475", "85392", "85460", "80348", "81792", "24128", "76232", "35709"]
_EDUCATION = ["Primary", "Secondary", "College", "2 yr Degree", "4 yr Degree", "Advanced Degree", "Unknown"]
_CREDIT = ["Good", "Low Risk", "High Risk", "Unknown"]
_BUYS = ["0-500", "501-1000", "1001-5000", "5001-10000", ">10000", "Unknown"]
_CATEGORIES = {
    "Books": ["personal", "reference", "self-help", "computers"],
    "Children": ["personal", "infants"],
    "Electronics": ["portable", "stereo", "personal"],
    "Women": ["accessories", "fragrances", "maternity", "dresses"],
    "Music": ["classical", "rock"],
    "Men": ["pants", "accessories", "shirts"],
    "Jewelry": ["birdal", "rings"],
    "Sports": ["football", "golf"],
    "Home": ["bedding", "kids"],
    "Shoes": ["athletic", "womens"],
}
_BRANDS = ["scholaramalgamalg #14", "scholaramalgamalg #7", "exportiunivamalg #9", "scholaramalgamalg #9",
           "amalgimporto #1", "edu packscholar #1", "exportiimporto #1", "importoamalg #1"]  # fmt: skip
_MANUFACTURERS = [128, 977, 350, 677, 940, 694, 808, 129, 270, 821, 423, 738, 750, 778]
_COLOURS = ["slate", "blanched", "burnished", "peach", "purple", "burlywood", "indian", "spring", "floral", "medium",
            "powder", "khaki", "midnight", "snow"]  # fmt: skip
_UNITS = ["Ounce", "Oz", "Pallet", "Gross", "Each", "N/A"]
_SIZES = ["medium", "extra large", "small", "petite", "N/A"]
_MANAGERS = [1, 8, 28, 40]
_UNKNOWN = dict.fromkeys(
    ["quantity", "wholesale_cost", "list_price", "coupon_amt", "ext_tax", "refunded_cash", "fee"], 0.03
)
"""Measures that may be NULL, and how often. A group of nothing but NULLs is no row of a noiseless answer."""


def write_rows(folder: Path) -> None:
    """Write a CSV file with a header per table; NULL is nothing.

    Cost: about a second.
    """
    rows = generate()
    for name, table in tpcds_schema().tables.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, [column.name for column in table.columns], restval=None)
            writer.writeheader()
            writer.writerows(rows[name])


def generate() -> Rows:
    """The rows of all tables, by table; a column that is not named is NULL."""
    return _Generator(np.random.default_rng(20260101)).rows


def date_key(day: date) -> int:
    """The surrogate key of a day, which is its Julian day number."""
    return day.toordinal() + _JULIAN


class _Generator:
    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.rows: Rows = {"date_dim": _days(), "time_dim": _moments()}
        self._dimensions()
        self._people()
        self._inventory()
        self._sales()

    # What is drawn

    def _one(self, values: list[object] | list[str] | list[int]) -> object:
        return values[int(self._rng.integers(len(values)))]

    def _to(self, low: int, high: int) -> int:
        return int(self._rng.integers(low, high + 1))

    def _chance(self, share: float) -> bool:
        return bool(self._rng.random() < share)

    def _or_null(self, value: object, share: float = 0.03) -> object:
        return None if self._chance(share) else value

    def _key(self, table: str) -> int:
        first = next(iter(self.rows[table][0].values()))
        assert isinstance(first, int)
        return first + int(self._rng.integers(len(self.rows[table])))

    def _place(self, prefix: str, county: str | None = None) -> Row:
        return {
            f"{prefix}_street_number": str(self._to(1, 999)), f"{prefix}_street_name": self._one(["Main", "Oak"]),
            f"{prefix}_street_type": self._one(["St", "Ave"]), f"{prefix}_suite_number": f"Suite {self._to(1, 9)}",
            f"{prefix}_city": self._or_null(self._one(_CITIES)), f"{prefix}_county": county or self._one(_COUNTIES),
            f"{prefix}_state": self._one(_STATES), f"{prefix}_zip": self._one(_ZIPS),
            f"{prefix}_country": "United States", f"{prefix}_gmt_offset": self._one([-5, -5, -5, -7]),
        }  # fmt: skip

    # What the retailer has

    def _dimensions(self) -> None:
        rows = self.rows
        rows["income_band"] = [
            {"ib_income_band_sk": k, "ib_lower_bound": (k - 1) * 10_000 + 1, "ib_upper_bound": k * 10_000}
            for k in range(1, 21)
        ]
        kinds = [(gender, status, education) for gender in "MF" for status in "MSDWU" for education in _EDUCATION]
        rows["customer_demographics"] = [
            {"cd_demo_sk": k, "cd_gender": gender, "cd_marital_status": status, "cd_education_status": education,
             "cd_purchase_estimate": 500 * self._to(1, 4), "cd_credit_rating": self._one(_CREDIT),
             "cd_dep_count": self._to(0, 6), "cd_dep_employed_count": self._to(0, 6),
             "cd_dep_college_count": self._to(0, 6)}
            for k, (gender, status, education) in enumerate(kinds * 2, 1)
        ]  # fmt: skip
        rows["household_demographics"] = [
            {"hd_demo_sk": k, "hd_income_band_sk": self._to(1, 20), "hd_buy_potential": _BUYS[k % 6],
             "hd_dep_count": self._to(0, 9), "hd_vehicle_count": self._to(-1, 4)}
            for k in range(1, 181)
        ]  # fmt: skip
        rows["customer_address"] = [
            {"ca_address_sk": k, "ca_address_id": _id(k), **self._place("ca"), "ca_location_type": "condo"}
            for k in range(1, _ADDRESSES + 1)
        ]
        rows["item"] = [self._item(k) for k in range(1, _ITEMS + 1)]
        rows["store"] = [self._store(k) for k in range(1, 7)]
        rows["call_center"] = [
            {"cc_call_center_sk": k, "cc_call_center_id": _id(k), "cc_name": name, "cc_manager": manager,
             **self._place("cc", "Williamson County")}
            for k, (name, manager) in enumerate([("NY Metro", "Bob"), ("Mid Atlantic", "Felipe"), ("North", None)], 1)
        ]  # fmt: skip
        rows["catalog_page"] = [
            {"cp_catalog_page_sk": k, "cp_catalog_page_id": _id(k), "cp_department": "DEPARTMENT"}
            for k in range(1, 16)
        ]
        rows["web_site"] = [
            {"web_site_sk": k, "web_site_id": _id(k), "web_name": f"site_{k // 2}", "web_company_name": company,
             **self._place("web")}
            for k, company in enumerate(["pri", "able", "pri", "ought"], 1)
        ]  # fmt: skip
        rows["web_page"] = [
            {"wp_web_page_sk": k, "wp_web_page_id": _id(k), "wp_char_count": 4900 + 50 * k} for k in range(1, 11)
        ]
        rows["warehouse"] = [
            {"w_warehouse_sk": k, "w_warehouse_id": _id(k), "w_warehouse_name": name, "w_warehouse_sq_ft": size,
             **self._place("w")}
            for k, (name, size) in enumerate([("Conventional childr", 977_787), ("Important issues", 138_504),
                                              (None, 294_242)], 1)
        ]  # fmt: skip
        rows["ship_mode"] = [
            {"sm_ship_mode_sk": k, "sm_ship_mode_id": _id(k), "sm_type": kind, "sm_carrier": carrier}
            for k, (kind, carrier) in enumerate(
                [
                    (kind, carrier)
                    for kind in ("EXPRESS", "OVERNIGHT", "REGULAR")
                    for carrier in ("DHL", "BARIAN", "UPS")
                ],
                1,
            )
        ]
        rows["reason"] = [
            {"r_reason_sk": k, "r_reason_id": _id(k), "r_reason_desc": f"reason {k + 20}"} for k in range(1, 11)
        ]
        rows["promotion"] = [
            {"p_promo_sk": k, "p_promo_id": _id(k), "p_channel_dmail": self._one(["Y", "N"]),
             "p_channel_email": "N", "p_channel_tv": self._or_null("N", 0.2), "p_channel_event": "YN"[k % 2]}
            for k in range(1, 13)
        ]  # fmt: skip

    def _item(self, k: int) -> Row:
        category = list(_CATEGORIES)[k % len(_CATEGORIES)]
        classes = _CATEGORIES[category]
        brand = k // 3 % len(_BRANDS)
        manufacturer = _MANUFACTURERS[k % len(_MANUFACTURERS)]
        version = (k + 1) // 2  # two rows of an item are what it was and what it is
        size, colour, unit = (
            _SIZES[k // 5 % len(_SIZES)],
            _COLOURS[k * 3 % len(_COLOURS)],
            _UNITS[k // 7 % len(_UNITS)],
        )
        if (category, manufacturer) == ("Women", 778):
            size, colour, unit = "medium", "powder", "Ounce"
        price = [1.25, 75.0, 68.5, 9.0, 66.0, 4.0, 70.0][k % 7] + (k % 3) / 10
        return {
            "i_item_sk": k, "i_item_id": _id(version), "i_item_desc": f"What item {version} is for, at length",
            "i_current_price": self._or_null(round(price, 2)), "i_wholesale_cost": round(price / 2, 2),
            "i_brand_id": 1001 + brand, "i_brand": self._or_null(_BRANDS[brand]),
            "i_class_id": 1 + k // 10 % len(classes), "i_class": self._or_null(classes[k // 10 % len(classes)]),
            "i_category_id": 1 + k % len(_CATEGORIES), "i_category": self._or_null(category),
            "i_manufact_id": manufacturer, "i_manufact": f"manufacturer {manufacturer}",
            "i_size": size, "i_color": colour, "i_units": unit,
            "i_manager_id": _MANAGERS[k % len(_MANAGERS)], "i_product_name": self._or_null(f"product {k}"),
        }  # fmt: skip

    def _store(self, k: int) -> Row:
        place = self._place("s", _COUNTIES[0] if k < 4 else None)
        place |= {"s_state": "TN" if k < 5 else "GA", "s_gmt_offset": -5, "s_city": _CITIES[k % 3]}
        return {
            "s_store_sk": k, "s_store_id": _id(k), "s_store_name": ["ese", "able", "ought"][k % 3],
            "s_number_employees": 190 + 20 * k, "s_market_id": 8 if k < 4 else 5, "s_company_id": 1,
            "s_company_name": "Unknown", **place,
        }  # fmt: skip

    def _inventory(self) -> None:
        found: list[Row] = []
        day = date(1998, 12, 31)
        while day < date(2002, 1, 10):
            for item in range(1, _ITEMS + 1):
                for warehouse in range(1, 4):
                    if self._chance(0.12) or item % 16 == 0:
                        few = self._chance(0.8 if item % 16 == 0 else 0.3)
                        amount = self._or_null(self._to(0, 40) if few else self._to(300, 1000))
                        key = {"inv_date_sk": date_key(day), "inv_item_sk": item, "inv_warehouse_sk": warehouse}
                        found.append({**key, "inv_quantity_on_hand": amount})
            day += timedelta(days=7)
        self.rows["inventory"] = found

    # Who buys, and what

    def _people(self) -> None:
        self.rows["customer"] = [
            {"c_customer_sk": k, "c_customer_id": _id(k),
             "c_current_cdemo_sk": self._or_null(self._key("customer_demographics")),
             "c_current_hdemo_sk": self._or_null(self._key("household_demographics")),
             "c_current_addr_sk": self._or_null(self._key("customer_address")),
             "c_first_shipto_date_sk": date_key(_FIRST), "c_first_sales_date_sk": date_key(_FIRST),
             "c_salutation": self._one(["Dr.", "Ms.", "Mr."]), "c_first_name": self._or_null(f"First{k % 40}"),
             "c_last_name": self._or_null(f"Last{k % 90}"),
             "c_preferred_cust_flag": self._or_null(self._one(["Y", "N"])),
             "c_birth_day": self._to(1, 28), "c_birth_month": self._to(1, 12), "c_birth_year": self._to(1924, 1992),
             "c_birth_country": self._one(["CANADA", "FRANCE", "UNITED STATES"])}
            for k in range(1, _CUSTOMERS + 1)
        ]  # fmt: skip
        west = [row["ca_address_sk"] for row in self.rows["customer_address"] if row["ca_gmt_offset"] == -7]
        for k, customer in enumerate(self.rows["customer"][:9]):
            customer["c_current_cdemo_sk"] = self._demographics("M", "Unknown")
            customer["c_current_hdemo_sk"] = 5 + 6 * k  # of unknown potential
            customer["c_current_addr_sk"] = west[k]

    def _sales(self) -> None:
        for name in ("store_sales", "store_returns", "catalog_sales", "catalog_returns", "web_sales", "web_returns"):
            self.rows[name] = []
        self._numbers = dict.fromkeys(("ss", "cs", "ws"), 0)
        for _ in range(1200):
            self._order("ss", self._customer(), self._sold(), self._items(20 if self._chance(0.1) else 9))
        for sale in [row for row in self.rows["store_sales"] if self._chance(0.02) and row["ss_sold_date_sk"]]:
            day = sale["ss_sold_date_sk"]
            assert isinstance(day, int)
            self._order("cs", sale["ss_customer_sk"], day, self._items(3))  # both, or all three, on one day
            if self._chance(0.7):
                self._order("ws", sale["ss_customer_sk"], day, self._items(3))
        for back in [row for row in self.rows["store_returns"] if self._chance(0.5) and row["sr_returned_date_sk"]]:
            day, item = back["sr_returned_date_sk"], back["sr_item_sk"]
            assert isinstance(day, int) and isinstance(item, int)
            self._order("cs", back["sr_customer_sk"], day + self._to(0, 60), [item])  # the same item once more
        self._plant()
        for _ in range(500):
            self._order("cs", self._customer(), self._sold(), self._items(8))
        for _ in range(500):
            self._order("ws", self._customer(), self._sold(), self._items(8))

    def _plant(self) -> None:
        """What some queries look for, and chance alone would not bring."""
        for channel in ("ss", "cs", "ws"):
            december = {f"{channel}_quantity": 90, f"{channel}_sales_price": 150.0, f"{channel}_net_profit": 900.0}
            for item in range(1, 8):
                self._order(channel, item, date_key(date(2001, 12, item)), [item], december, 20)  # large returns
            alike = {f"{channel}_ext_sales_price": 500.0 + self._to(0, 20)}
            self._order(channel, 5, date_key(date(2000, 1, 4)), [79], alike)  # an item that sells alike everywhere
            self._order(
                channel, 6, date_key(date(2000, 6, 20)), [10, 11, 12], {}, 10
            )  # one that comes back everywhere
        for item, (status, education) in enumerate(
            [("M", "Advanced Degree"), ("S", "College"), ("W", "2 yr Degree")], 20
        ):
            demographics = self._demographics(status, education)
            priced = {"ws_sales_price": [120.0, 70.0, 170.0][item - 20], "ws_net_profit": 160.0,
                      "ws_bill_cdemo_sk": demographics, "ws_ship_cdemo_sk": demographics}  # fmt: skip
            for address in self.rows["customer_address"]:
                if address["ca_state"] in ("OH", "KY", "LA"):
                    where = {"ws_bill_addr_sk": address["ca_address_sk"], "ws_web_page_sk": 3}
                    self._order("ws", item, date_key(date(2000, 5, 1)), [item], priced | where, 30)
        for customer in self.rows["customer"][:9]:
            self._order(
                "cs", customer["c_customer_sk"], date_key(date(1998, 10, 20)), [30, 31], {"cs_call_center_sk": 2}, 20
            )

    def _demographics(self, status: str, education: str) -> object:
        return next(
            row["cd_demo_sk"]
            for row in self.rows["customer_demographics"]
            if (row["cd_marital_status"], row["cd_education_status"]) == (status, education)
        )

    def _customer(self) -> object:
        return self._or_null(self._key("customer"), 0.04)

    def _sold(self) -> int:
        return date_key(_FIRST) + self._to(0, _SOLD_DAYS)

    def _items(self, at_most: int) -> list[int]:
        count = at_most if at_most > 15 else self._to(1, at_most)
        chosen = self._rng.choice(_ITEMS - 4, size=count, replace=False)  # nobody ever buys the last four
        return [int(item) + 1 for item in chosen]

    def _order(
        self,
        channel: str,
        customer: object,
        day: int,
        items: list[int],
        known: Mapping[str, object] | None = None,
        back_after: int | None = None,
    ) -> None:
        """An order of some items; of a planted one some columns are known, and when all of it comes back."""
        self._numbers[channel] += 1
        shared = self._channel(channel, customer, day)
        for item in items:
            sale = {**shared, f"{channel}_item_sk": item, **self._measures(channel)}
            sale[f"{channel}_promo_sk"] = self._or_null(self._key("promotion"), 0.2)
            if channel != "ss":
                sale[f"{channel}_warehouse_sk"] = self._or_null(self._key("warehouse"))
                sale[f"{channel}_ship_date_sk"] = self._or_null(day + self._to(1, 140))
            if known is not None:
                sale |= {f"{channel}_sold_date_sk": day, **known}
            self.rows[{"ss": "store_sales", "cs": "catalog_sales", "ws": "web_sales"}[channel]].append(sale)
            if back_after is not None:
                self._take_back(channel, sale, day + back_after, whole=True)
            elif self._chance(0.15):
                self._take_back(channel, sale, day + self._to(1, 130))

    def _channel(self, channel: str, customer: object, day: int) -> Row:
        """What the lines of one order share."""
        number = "ss_ticket_number" if channel == "ss" else f"{channel}_order_number"
        shared: Row = {
            number: self._numbers[channel],
            f"{channel}_sold_date_sk": self._or_null(day, 0.01),
            f"{channel}_sold_time_sk": self._or_null(60 * int(self._rng.choice(_MINUTES))),
        }
        who = [("", customer)] if channel == "ss" else [("bill_", customer), ("ship_", customer)]
        if channel != "ss" and self._chance(0.2):
            who[1] = ("ship_", self._customer())
        for role, person in who:
            shared[f"{channel}_{role}customer_sk"] = person
            shared[f"{channel}_{role}cdemo_sk"] = self._or_null(self._key("customer_demographics"))
            shared[f"{channel}_{role}hdemo_sk"] = self._or_null(self._key("household_demographics"))
            shared[f"{channel}_{role}addr_sk"] = self._or_null(self._key("customer_address"))
        parts = {"ss": ["store"], "cs": ["call_center", "catalog_page", "ship_mode"],
                 "ws": ["web_page", "web_site", "ship_mode"]}[channel]  # fmt: skip
        return shared | {f"{channel}_{part}_sk": self._or_null(self._key(part)) for part in parts}

    def _measures(self, channel: str) -> Row:
        rng = self._rng
        quantity = self._to(1, 100)
        cost = round(rng.uniform(1, 100), 2)
        listed = round(cost * rng.uniform(1, 3), 2)
        price = round(listed * rng.uniform(0, 1), 2)
        extended = round(quantity * price, 2)
        coupon = round(extended * rng.uniform(0, 1), 2) if self._chance(0.1) else 0.0
        paid = round(extended - coupon, 2)
        tax = round(paid * 0.01 * self._to(0, 9), 2)
        found = {
            "quantity": quantity, "wholesale_cost": cost, "list_price": listed, "sales_price": price,
            "ext_discount_amt": round(quantity * (listed - price), 2), "ext_sales_price": extended,
            "ext_wholesale_cost": round(quantity * cost, 2), "ext_list_price": round(quantity * listed, 2),
            "ext_tax": tax, "coupon_amt": coupon, "net_paid": paid, "net_paid_inc_tax": round(paid + tax, 2),
            "net_profit": round(paid - quantity * cost, 2),
        }  # fmt: skip
        if channel != "ss":
            ship = round(quantity * listed * rng.uniform(0, 0.5), 2)
            found |= {"ext_ship_cost": ship, "net_paid_inc_ship": round(paid + ship, 2),
                      "net_paid_inc_ship_tax": round(paid + ship + tax, 2)}  # fmt: skip
        return {f"{channel}_{name}": self._or_null(value, _UNKNOWN.get(name, 0)) for name, value in found.items()}

    def _take_back(self, channel: str, sale: Row, day: int, *, whole: bool = False) -> None:
        short = {"ss": "sr", "cs": "cr", "ws": "wr"}[channel]
        number = "ticket_number" if channel == "ss" else "order_number"
        back: Row = {
            f"{short}_item_sk": sale[f"{channel}_item_sk"], f"{short}_{number}": sale[f"{channel}_{number}"],
            f"{short}_returned_date_sk": day if whole else self._or_null(day),
            f"{short}_reason_sk": self._or_null(self._key("reason")),
        }  # fmt: skip
        if channel == "ss":
            same = self._chance(0.85)
            back["sr_customer_sk"] = sale["ss_customer_sk"] if same else self._customer()
            back |= {f"sr_{part}": sale[f"ss_{part}"] for part in ("cdemo_sk", "hdemo_sk", "addr_sk", "store_sk")}
        else:
            for role, sold in (("refunded_", "bill_"), ("returning_", "ship_")):
                for part in ("customer_sk", "cdemo_sk", "hdemo_sk", "addr_sk"):
                    back[f"{short}_{role}{part}"] = sale[f"{channel}_{sold}{part}"]
            if whole or self._chance(0.5):
                back[f"{short}_returning_cdemo_sk"] = back[f"{short}_refunded_cdemo_sk"]
            parts = ["call_center_sk", "catalog_page_sk", "warehouse_sk"] if channel == "cs" else ["web_page_sk"]
            back |= {f"{short}_{part}": sale[f"{channel}_{part}"] for part in parts}
        quantity, price = sale[f"{channel}_quantity"], sale[f"{channel}_sales_price"]
        count = self._to(quantity if whole else 1, quantity) if isinstance(quantity, int) else 1
        amount = round(count * (price if isinstance(price, float) else 1.0), 2)
        money = {
            "return_amount" if channel == "cs" else "return_amt": amount, "return_tax": round(amount * 0.05, 2),
            "return_amt_inc_tax": round(amount * 1.05, 2), "fee": self._to(50, 10_000) / 100,
            "return_ship_cost": round(amount * 0.1, 2), "refunded_cash": round(amount * 0.5, 2),
            "reversed_charge": round(amount * 0.25, 2),
            "account_credit" if channel == "ws" else "store_credit": round(amount * 0.25, 2),
            "net_loss": round(amount * 0.15 + 5, 2), "return_quantity": count,
        }  # fmt: skip
        back |= {f"{short}_{name}": self._or_null(value, _UNKNOWN.get(name, 0)) for name, value in money.items()}
        self.rows[{"sr": "store_returns", "cr": "catalog_returns", "wr": "web_returns"}[short]].append(back)


def _id(number: int) -> str:
    """A business key: sixteen letters."""
    letters = ""
    while len(letters) < 16:
        number, rest = divmod(number, 16)
        letters = "ABCDEFGHIJKLMNOP"[rest] + letters
    return letters


def _days() -> list[Row]:
    days = [_FIRST + timedelta(days=k) for k in range((_LAST - _FIRST).days + 1)]
    return [
        {
            "d_date_sk": date_key(day), "d_date_id": _id(date_key(day)), "d_date": day.isoformat(),
            "d_month_seq": (day.year - 1900) * 12 + day.month - 1, "d_week_seq": (date_key(day) - 2415021) // 7 + 1,
            "d_quarter_seq": (day.year - 1900) * 4 + (day.month - 1) // 3, "d_year": day.year,
            "d_dow": day.isoweekday() % 7, "d_moy": day.month, "d_dom": day.day, "d_qoy": (day.month + 2) // 3,
            "d_fy_year": day.year, "d_day_name": f"{day:%A}", "d_quarter_name": f"{day.year}Q{(day.month + 2) // 3}",
            "d_holiday": "N", "d_weekend": "Y" if day.weekday() > 4 else "N",
        }
        for day in days
    ]  # fmt: skip


def _moments() -> list[Row]:
    meals = {6: "breakfast", 7: "breakfast", 8: "breakfast", 12: "lunch", 18: "dinner", 19: "dinner"}
    return [
        {
            "t_time_sk": 60 * minute, "t_time_id": _id(60 * minute), "t_time": 60 * minute, "t_hour": minute // 60,
            "t_minute": minute % 60, "t_second": 0, "t_am_pm": "AM" if minute < 720 else "PM",
            "t_meal_time": meals.get(minute // 60),
        }
        for minute in _MINUTES
    ]  # fmt: skip
