# ActiveRecord on pg: ruby active_record.rb TASK ARGUMENTS..., where to connect in NG_*. Writes JSON.
require "active_record"
require "json"

ActiveRecord::Base.establish_connection(
  adapter: "postgresql", host: "localhost", port: ENV["NG_PORT"], database: "demo",
  username: ENV["NG_USER"], password: ENV["NG_PASSWORD"],
  sslmode: "verify-full", sslrootcert: ENV["NG_AUTHORITY"]
)

class Order < ActiveRecord::Base
  self.primary_key = "o_orderkey"
end

class Nation < ActiveRecord::Base
  self.table_name = "nation"
  self.primary_key = "n_nationkey"
end

class Customer < ActiveRecord::Base
  self.table_name = "customer"
  self.primary_key = "c_custkey"
  belongs_to :nation, foreign_key: "c_nationkey"
end

def connection
  ActiveRecord::Base.connection
end

def refusal(sql)
  connection.execute(sql)
  ""
rescue ActiveRecord::StatementInvalid => refused
  refused.cause.result.error_field(PG::PG_DIAG_SQLSTATE)
end

TASKS = {
  "tables" => ->(*) { connection.tables },
  "columns" => ->(*) { [Order.columns.map { |one| [one.name, one.type] }, connection.primary_key("orders"),
                        connection.foreign_keys("orders").map(&:to_table)] },
  "rows" => ->(*statements) { statements.map { |sql| connection.select_rows(sql) } },
  "prepared" => lambda do |sql, *values|
    number = ActiveRecord::Type::Integer.new(limit: 8)
    values.map do |value|
      bound = ActiveRecord::Relation::QueryAttribute.new("price", value, number)
      connection.exec_query(sql, "SQL", [bound], prepare: true).rows[0][0]
    end
  end,
  "model" => lambda do |*|
    [Order.where("o_totalprice > ?", 1000).count, Order.where(o_orderdate: Date.new(1995)..).count,
     Customer.joins(:nation).group("n_name").count.length, Nation.order(:n_name).pluck(:n_name).length]
  end,
  "refusal" => ->(sql) { refusal(sql) },
  "cancelled" => lambda do |sql|
    raw = connection.raw_connection
    Thread.new { sleep(ENV["NG_RUNNING_MS"].to_f / 1000); raw.cancel }
    code = refusal(sql)
    connection.execute("SELECT 1")
    code
  end
}

task, *rest = ARGV
print JSON.generate(TASKS.fetch(task).call(*rest))
