# Sequel on pg: ruby sequel.rb TASK ARGUMENTS..., where to connect in NG_*. Writes JSON.
require "json"
require "sequel"

DB = Sequel.postgres(
  host: "localhost", port: ENV["NG_PORT"], database: "demo", user: ENV["NG_USER"], password: ENV["NG_PASSWORD"],
  sslmode: "verify-full", sslrootcert: ENV["NG_AUTHORITY"]
)

def refusal(sql)
  DB.fetch(sql).all
  ""
rescue Sequel::DatabaseError => refused
  refused.wrapped_exception.result.error_field(PG::PG_DIAG_SQLSTATE)
end

TASKS = {
  "tables" => ->(*) { DB.tables },
  "columns" => ->(*) { DB.schema(:orders).map { |name, about| [name, about[:type], about[:primary_key]] } },
  "rows" => ->(*statements) { statements.map { |sql| DB.fetch(sql).map(&:values) } },
  "prepared" => lambda do |sql, *values|
    statement = DB[sql, :$price].prepare(:select, :above)
    values.map { |value| statement.call(price: value.to_i)[0].values[0] }
  end,
  "dataset" => lambda do |*|
    customers = DB[:customer].join(:nation, n_nationkey: :c_nationkey)
    [DB[:orders].where { o_totalprice > 1000 }.count, customers.group_and_count(:n_name).all.length,
     customers.where(n_name: %w[FRANCE PERU]).count]
  end,
  "refusal" => ->(sql) { refusal(sql) },
  "cancelled" => lambda do |sql|
    DB.synchronize do |raw|
      Thread.new { sleep(ENV["NG_RUNNING_MS"].to_f / 1000); raw.cancel }
      code = refusal(sql)
      DB.fetch("SELECT 1").all
      code
    end
  end
}

task, *rest = ARGV
print JSON.generate(TASKS.fetch(task).call(*rest))
