# The access methods, for tests that do the same to each of them: a table with indexes, clients that write into it, and
# clients that compare what the indexes answer with sequential scans.
#
#   foreach my $method (methods('grid', 'column'))
#   {
#       $method->make($node);
#       my $writers = start_clients($node, $method->writes, clients => 4, seconds => 6);
#       my $readers = start_clients($node, [ $method->check(0, 2), $method->verify(1) ], clients => 2, seconds => 6);
#       ...
#       $method->answers_right($node, 'afterwards');
#   }
#
# PgGpuTest::Method::Grid and the others say what is different: `name`, `table`, `indexes`; `request`, what gpu.stat calls
# what `count` asks; `make`, which also creates faults.check_method(low, width, pause) and fill(low, rows), where `low` is
# below 10000; `some_rows`, `change` and `more_writes`, parts of the clients' statements.
package PgGpuTest::Method;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PgGpuTest;
use PgGpuTest::Faults;
use Test::More;

our @EXPORT = qw(methods);

sub methods
{
	my @names = @_;
	return map {
		my $class = 'PgGpuTest::Method::' . ucfirst;
		eval "require $class" or die $@;
		bless {}, $class;
	} @names ? @names : qw(kary grid column text);
}

my $variables = "\\set low random(0, 9999)\n\\set width random(1, 3000)\n\\set rows random(1, 900)\n";

# Returns scripts for start_clients that write, vacuum and merge. Rows are locked with SKIP LOCKED before they are
# changed, so that no two clients wait for each other and every error is one to look at.
sub writes
{
	my ($self) = @_;
	my $table = $self->table;
	my $some_rows = "SELECT ctid FROM $table WHERE @{[$self->some_rows]} FOR UPDATE SKIP LOCKED";
	my %scripts = (
		insert => [ 'SELECT fill(:low, :rows);', 8 ],
		insert_one => [ 'SELECT fill(:low, 1);', 6 ],
		abort => [ "BEGIN;\nSELECT fill(:low, :rows);\nSAVEPOINT s;\nSELECT fill(:low, :rows);\nROLLBACK TO s;\nROLLBACK;", 2 ],
		delete => [ "DELETE FROM $table WHERE ctid = ANY (ARRAY($some_rows));", 6 ],
		update => [ "UPDATE $table SET @{[$self->change]} WHERE ctid = ANY (ARRAY($some_rows LIMIT 100));", 4 ],
		touch => [ "UPDATE $table SET filler = 'x' WHERE ctid = ANY (ARRAY($some_rows LIMIT 100));", 3 ],
		vacuum => [ "VACUUM (INDEX_CLEANUP ON) $table;", 3 ],
		merge => [ join("\n", map { "SELECT count(*) FROM gpu.merge('$_');" } $self->indexes), 1 ],
		$self->more_writes,);
	return [ map { [ $variables . $scripts{$_}[0] . "\n", $scripts{$_}[1] ] } sort keys %scripts ];
}

sub more_writes { return (); }

# Returns a script that compares answers, `pause` seconds after its snapshot was taken.
sub check
{
	my ($self, $pause, $weight) = @_;
	return [ $variables . "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT faults.check_method(:low, :width, $pause);\nCOMMIT;\n", $weight ];
}

# Returns a script that verifies one of the indexes.
sub verify
{
	my ($self, $weight) = @_;
	return map { [ "SELECT faults.must_equal('gpu.verify', '', (SELECT coalesce(string_agg(v::text, ' '), '') FROM gpu.verify('$_') AS v));\n", $weight ] }
		$self->indexes;
}

# Passes when the indexes are sound and answer as sequential scans do. `options` are PGOPTIONS.
sub answers_right
{
	my ($self, $node, $what, %params) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	local $ENV{PGOPTIONS} = $params{options} // '';
	check_sound($node, "$what: gpu.verify finds nothing in $_", $_) foreach $self->indexes;
	my $result = sql($node, "BEGIN ISOLATION LEVEL REPEATABLE READ;\n"
		. join('', map { 'SELECT faults.check_method(' . random_int(0, 9000) . ", $_, 0);\n" } (1, 100, 3000)) . 'COMMIT;');
	is($result->{err} . $result->{out}, "same\nsame\nsame", "$what: answers equal a sequential scan's");
	return;
}

1;
