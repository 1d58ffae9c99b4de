{% macro rows(statements) %}
  {% set answers = [] %}
  {% for sql in statements %}
    {% set rows = [] %}
    {% for row in run_query(sql).rows %}{% do rows.append(row.values() | map("string") | list) %}{% endfor %}
    {% do answers.append(rows) %}
  {% endfor %}
  {{ print("ANSWER " ~ tojson(answers)) }}
{% endmacro %}

{% macro tables() %}
  {% set schema = api.Relation.create(database=target.database, schema=target.schema) %}
  {{ print("ANSWER " ~ tojson(list_relations_without_caching(schema).columns["name"].values() | list)) }}
{% endmacro %}

{% macro columns(table) %}
  {% set relation = adapter.get_relation(target.database, target.schema, table) %}
  {{ print("ANSWER " ~ tojson(adapter.get_columns_in_relation(relation) | map(attribute="name") | list)) }}
{% endmacro %}
