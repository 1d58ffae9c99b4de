<?php
// PDO, and for what PDO has no word for (cancelling) PHP's own pgsql: php client.php TASK ARGUMENTS..., where to connect
// in NG_*. Writes JSON.

function place(): string
{
    return "host=localhost port=" . getenv("NG_PORT") . " dbname=demo sslmode=verify-full sslrootcert="
        . getenv("NG_AUTHORITY");
}

function connected(array $options = []): PDO
{
    $known = [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION];
    return new PDO("pgsql:" . place(), getenv("NG_USER"), getenv("NG_PASSWORD"), $options + $known);
}

function counts(PDO $pdo, array $rest): array
{
    $statement = $pdo->prepare(array_shift($rest));
    $found = [];
    foreach ($rest as $value) {
        $statement->execute([$value]);
        $found[] = $statement->fetchColumn();
    }
    return $found;
}

$tasks = [
    "tables" => function (array $rest): array {
        $statement = connected()->prepare("SELECT table_name FROM information_schema.tables WHERE table_schema = ?");
        $statement->execute(["public"]);
        return $statement->fetchAll(PDO::FETCH_COLUMN);
    },
    "rows" => function (array $rest): array {
        $pdo = connected();
        return array_map(fn(string $sql): array => $pdo->query($sql)->fetchAll(PDO::FETCH_NUM), $rest);
    },
    "prepared" => fn(array $rest): array => counts(connected(), $rest),
    "emulated" => fn(array $rest): array => counts(connected([PDO::ATTR_EMULATE_PREPARES => true]), $rest),
    "columns" => function (array $rest): array {
        $statement = connected()->query($rest[0]);
        return array_map(fn(int $at): array => $statement->getColumnMeta($at), range(0, $statement->columnCount() - 1));
    },
    "refusal" => function (array $rest): string {
        try {
            connected()->query($rest[0]);
        } catch (PDOException $refused) {
            return $refused->getCode();
        }
        return "";
    },
    "cancelled" => function (array $rest): bool {
        $more = " user=" . getenv("NG_USER") . " password=" . getenv("NG_PASSWORD");
        $connection = pg_connect(place() . $more);
        pg_send_query($connection, $rest[0]);
        usleep(1000 * (int) getenv("NG_RUNNING_MS"));
        pg_cancel_query($connection); // and forgets what came of it
        return pg_query($connection, "SELECT 1") !== false;
    },
];

echo json_encode($tasks[$argv[1]](array_slice($argv, 2)), JSON_THROW_ON_ERROR);
