# DBD::Pg: perl client.pl TASK ARGUMENTS..., where to connect in NG_*. Writes JSON.
use strict;
use warnings;
use DBD::Pg qw(:async);
use DBI;
use JSON::PP;
use Time::HiRes qw(sleep);

my $place = "dbi:Pg:host=localhost;port=$ENV{NG_PORT};dbname=demo;sslmode=verify-full;sslrootcert=$ENV{NG_AUTHORITY}";
my $connection = DBI->connect($place, $ENV{NG_USER}, $ENV{NG_PASSWORD}, { RaiseError => 1, PrintError => 0 });

my %tasks = (
    tables => sub {
        my $known = $connection->table_info(undef, "public", "%", "TABLE");
        return [ map { $_->{TABLE_NAME} } @{ $known->fetchall_arrayref({}) } ];
    },
    columns => sub {
        my ($table) = @_;
        my $known = $connection->column_info(undef, "public", $table, "%");
        my @columns = map { $_->{COLUMN_NAME} } @{ $known->fetchall_arrayref({}) };
        return [ \@columns, [ $connection->primary_key(undef, "public", $table) ] ];
    },
    rows => sub {
        return [ map { $connection->selectall_arrayref($_) } @_ ];
    },
    prepared => sub {
        my ($sql, @values) = @_;
        my $statement = $connection->prepare($sql);
        return [ map { $statement->execute($_); $statement->fetchrow_array } @values ];
    },
    refusal => sub {
        my ($sql) = @_;
        eval { $connection->do($sql); 1 } and return "";
        return $connection->state;
    },
    cancelled => sub {
        my ($sql) = @_;
        $connection->do($sql, { pg_async => PG_ASYNC });
        sleep($ENV{NG_RUNNING_MS} / 1000);
        $connection->pg_cancel;
        my $code = $connection->state;
        $connection->do("SELECT 1");
        return $code;
    },
);

my ($task, @rest) = @ARGV;
print JSON::PP->new->allow_nonref->encode($tasks{$task}->(@rest));
$connection->disconnect;
