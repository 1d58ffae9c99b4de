-- The tables of a ledger of version 1, as that version made them.

PRAGMA application_id = 1313295431;
PRAGMA user_version = 1;

CREATE TABLE identity (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id TEXT NOT NULL CHECK (length(id) = 36)
);

CREATE TABLE analysts (
    name TEXT PRIMARY KEY NOT NULL,
    key_hash TEXT NOT NULL UNIQUE CHECK (length(key_hash) = 64),
    nano_epsilon INTEGER NOT NULL CHECK (typeof(nano_epsilon) = 'integer'),
    atto_delta INTEGER NOT NULL CHECK (typeof(atto_delta) = 'integer'),
    spent_nano_epsilon INTEGER NOT NULL DEFAULT 0 CHECK (spent_nano_epsilon BETWEEN 0 AND nano_epsilon),
    spent_atto_delta INTEGER NOT NULL DEFAULT 0 CHECK (spent_atto_delta BETWEEN 0 AND atto_delta),
    added_at_ms INTEGER NOT NULL
);

CREATE TABLE charges (
    number INTEGER PRIMARY KEY,
    analyst TEXT NOT NULL REFERENCES analysts (name),
    nano_epsilon INTEGER NOT NULL CHECK (typeof(nano_epsilon) = 'integer' AND nano_epsilon > 0),
    atto_delta INTEGER NOT NULL CHECK (typeof(atto_delta) = 'integer' AND atto_delta >= 0),
    state TEXT NOT NULL CHECK (state IN ('reserved', 'committed', 'failed', 'released', 'crashed')),
    request_id TEXT NOT NULL,
    policy_hash TEXT NOT NULL,
    plan_hash TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    reserved_at_ms INTEGER NOT NULL,
    settled_at_ms INTEGER,
    CHECK ((state = 'reserved') = (settled_at_ms IS NULL))
);

CREATE INDEX open_charges ON charges (number) WHERE state = 'reserved';

CREATE TRIGGER charge_begins_reserved BEFORE INSERT ON charges
WHEN NEW.state <> 'reserved' OR NEW.number IS NOT (SELECT coalesce(max(number), 0) + 1 FROM charges)
BEGIN SELECT RAISE(ABORT, 'a charge begins reserved, with the next number'); END;

CREATE TRIGGER charge_is_spent AFTER INSERT ON charges
BEGIN
    UPDATE analysts SET spent_nano_epsilon = spent_nano_epsilon + NEW.nano_epsilon,
                        spent_atto_delta = spent_atto_delta + NEW.atto_delta
    WHERE name = NEW.analyst;
END;

CREATE TRIGGER charge_is_settled_once BEFORE UPDATE ON charges
WHEN OLD.state <> 'reserved' OR NEW.state = 'reserved'
    OR NEW.number IS NOT OLD.number OR NEW.analyst IS NOT OLD.analyst
    OR NEW.nano_epsilon IS NOT OLD.nano_epsilon OR NEW.atto_delta IS NOT OLD.atto_delta
    OR NEW.request_id IS NOT OLD.request_id OR NEW.policy_hash IS NOT OLD.policy_hash
    OR NEW.plan_hash IS NOT OLD.plan_hash OR NEW.mechanism IS NOT OLD.mechanism
    OR NEW.reserved_at_ms IS NOT OLD.reserved_at_ms
BEGIN SELECT RAISE(ABORT, 'a charge changes once, from reserved to settled'); END;

CREATE TRIGGER released_is_given_back AFTER UPDATE OF state ON charges WHEN NEW.state = 'released'
BEGIN
    UPDATE analysts SET spent_nano_epsilon = spent_nano_epsilon - NEW.nano_epsilon,
                        spent_atto_delta = spent_atto_delta - NEW.atto_delta
    WHERE name = NEW.analyst;
END;

CREATE TRIGGER charge_is_kept BEFORE DELETE ON charges
BEGIN SELECT RAISE(ABORT, 'a charge is never deleted'); END;

CREATE TRIGGER analyst_is_kept BEFORE DELETE ON analysts
BEGIN SELECT RAISE(ABORT, 'an analyst is never deleted'); END;

CREATE TRIGGER analyst_is_added_once BEFORE INSERT ON analysts
WHEN EXISTS (SELECT 1 FROM analysts WHERE name = NEW.name OR key_hash = NEW.key_hash)
BEGIN SELECT RAISE(ABORT, 'this analyst or this key is there already'); END;

CREATE TRIGGER analyst_keeps_name BEFORE UPDATE OF name ON analysts WHEN NEW.name IS NOT OLD.name
BEGIN SELECT RAISE(ABORT, 'an analyst keeps the name'); END;
