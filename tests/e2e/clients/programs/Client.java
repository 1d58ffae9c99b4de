import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** pgjdbc on behalf of the tests: java Client.java TASK ARGUMENTS..., where to connect in NG_*. Writes JSON. */
public class Client {
    public static void main(String[] arguments) throws Exception {
        List<String> rest = List.of(arguments).subList(1, arguments.length);
        try (Connection connection = connected()) {
            System.out.print(done(connection, arguments[0], rest));
        }
    }

    private static Connection connected() throws SQLException {
        Properties place = new Properties();
        place.setProperty("user", System.getenv("NG_USER"));
        place.setProperty("password", System.getenv("NG_PASSWORD"));
        place.setProperty("sslmode", "verify-full");
        place.setProperty("sslrootcert", System.getenv("NG_AUTHORITY"));
        place.setProperty("prepareThreshold", "1");
        return DriverManager.getConnection("jdbc:postgresql://localhost:" + System.getenv("NG_PORT") + "/demo", place);
    }

    private static String done(Connection connection, String task, List<String> rest) throws Exception {
        switch (task) {
            case "tables": return tables(connection);
            case "columns": return columns(connection, rest.get(0));
            case "rows": return rows(connection, rest);
            case "prepared": return prepared(connection, rest.get(0), rest.subList(1, rest.size()));
            case "fetched": return fetched(connection, rest.get(0));
            case "refusal": return refusal(connection, rest.get(0));
            case "cancelled": return cancelled(connection, rest.get(0));
            default: throw new IllegalArgumentException(task);
        }
    }

    private static String tables(Connection connection) throws SQLException {
        List<String> found = new ArrayList<>();
        ResultSet tables = connection.getMetaData().getTables(null, "public", "%", new String[] {"TABLE"});
        while (tables.next()) found.add(quoted(tables.getString("TABLE_NAME")));
        return "[" + String.join(",", found) + "]";
    }

    /** Columns with their types, then the primary key, then what the foreign keys refer to. */
    private static String columns(Connection connection, String table) throws SQLException {
        DatabaseMetaData known = connection.getMetaData();
        return "[" + String.join(",", named(known.getColumns(null, "public", table, "%"), "COLUMN_NAME", "TYPE_NAME"),
            named(known.getPrimaryKeys(null, "public", table), "COLUMN_NAME", "TABLE_NAME"),
            named(known.getImportedKeys(null, "public", table), "PKTABLE_NAME", "PKCOLUMN_NAME")) + "]";
    }

    private static String named(ResultSet rows, String first, String second) throws SQLException {
        List<String> found = new ArrayList<>();
        while (rows.next()) found.add("[" + quoted(rows.getString(first)) + "," + quoted(rows.getString(second)) + "]");
        return "[" + String.join(",", found) + "]";
    }

    private static String rows(Connection connection, List<String> statements) throws SQLException {
        List<String> found = new ArrayList<>();
        for (String sql : statements) {
            try (Statement statement = connection.createStatement()) {
                found.add(all(statement.executeQuery(sql)));
            }
        }
        return "[" + String.join(",", found) + "]";
    }

    private static String all(ResultSet rows) throws SQLException {
        List<String> found = new ArrayList<>();
        int width = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            List<String> cells = new ArrayList<>();
            for (int column = 1; column <= width; column++) cells.add(quoted(String.valueOf(rows.getObject(column))));
            found.add("[" + String.join(",", cells) + "]");
        }
        return "[" + String.join(",", found) + "]";
    }

    private static String prepared(Connection connection, String sql, List<String> values) throws SQLException {
        List<String> found = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (String value : values) {
                statement.setInt(1, Integer.parseInt(value));
                ResultSet rows = statement.executeQuery();
                rows.next();
                found.add(String.valueOf(rows.getLong(1)));
            }
        }
        return "[" + String.join(",", found) + "]";
    }

    /** The rows in portions, as getting many needs it. */
    private static String fetched(Connection connection, String sql) throws SQLException {
        connection.setAutoCommit(false);
        connection.setReadOnly(true);
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setFetchSize(10);
            String found = all(statement.executeQuery());
            connection.commit();
            return found;
        }
    }

    private static String refusal(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return refusal(statement, sql);
        }
    }

    private static String cancelled(Connection connection, String sql) throws Exception {
        try (Statement statement = connection.createStatement()) {
            Thread canceller = new Thread(() -> {
                try {
                    Thread.sleep(Long.parseLong(System.getenv("NG_RUNNING_MS")));
                    statement.cancel();
                } catch (InterruptedException | SQLException failed) {
                    throw new IllegalStateException(failed);
                }
            });
            canceller.start();
            String code = refusal(statement, sql);
            canceller.join();
            rows(connection, List.of("SELECT 1"));
            return code;
        }
    }

    private static String refusal(Statement statement, String sql) {
        try {
            statement.execute(sql);
            return quoted("");
        } catch (SQLException refused) {
            return quoted(refused.getSQLState());
        }
    }

    private static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
