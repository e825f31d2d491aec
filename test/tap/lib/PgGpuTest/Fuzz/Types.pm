package PgGpuTest::Fuzz::Types;

# The types of columns that random tables have: what values they hold, and how values that are equal but look
# different are compared.

use strict;
use utf8;
use warnings FATAL => 'all';

use Exporter 'import';
our @EXPORT = qw(type_names type_of sql_type literal_of kind_of relatives_of);

# class     what the expression generator takes the type for
# dense     a value from a small range, without quotes
# special   values at the ends and around special cases
# many      values that hardly repeat, in SQL: h is a number from 0 to 2^63
# kind      how answers are compared (PgGpuTest::Fuzz::Answers); exact unless said
# extremes  whether every version of PostgreSQL has min and max of it
my %types = (
	int2 => {
		class => 'int', extremes => 1, dense => sub { $_[0]->between(-12, 12) }, special => [ -32768, -32767, 32766, 32767, 0 ],
		many => '(h % 65536 - 32768)::int2'
	},
	int4 => {
		class => 'int', extremes => 1, dense => sub { $_[0]->between(-12, 40) },
		special => [ -2147483648, -2147483647, 2147483646, 2147483647, 0 ], many => '(h % 4294967296 - 2147483648)::int4'
	},
	int8 => {
		class => 'int', extremes => 1, dense => sub { $_[0]->between(-12, 12) },
		special => [ '-9223372036854775808', '-9223372036854775807', '9223372036854775807', '2147483648', '0' ], many => 'h - 4611686018427387904'
	},
	positive => { class => 'int', extremes => 1, dense => sub { $_[0]->between(1, 30) }, special => [2147483647], many => '(h % 2147483647 + 1)::int4' },
	# Quarters, so that sums are exact in any order.
	float4 => {
		class => 'float', kind => 'float', extremes => 1, dense => sub { $_[0]->between(-24, 24) / 4 },
		special => [ 'NaN', 'Infinity', '-Infinity', '-0', '0' ], many => '((h % 1601 - 800) / 4.0)::float4'
	},
	float8 => {
		class => 'float', kind => 'float', extremes => 1, dense => sub { $_[0]->between(-24, 24) / 4 },
		special => [ 'NaN', 'Infinity', '-Infinity', '-0', '0' ], many => '((h % 1600001 - 800000) / 4.0)::float8'
	},
	# Sums of these depend on the order of rows by much: none are asked for.
	wide_float => {
		sql => 'float8', class => 'wide', kind => 'float', extremes => 1, dense => sub { $_[0]->pick('0.1', '-0', '0', '0.3', '-2.5') },
		special => [ 'NaN', 'Infinity', '-Infinity', '5e-324', '-5e-324', '1.7976931348623157e308', '-1.7976931348623157e308', '3.5e38', '1e-46' ],
		many => '(h - 4611686018427387904)::float8 / 1e9'
	},
	numeric => {
		class => 'numeric', kind => 'numeric', extremes => 1, dense => sub { $_[0]->between(-30, 30) / 4 . $_[0]->pick('', '', '0', '00') },
		special => [ 'NaN', 'Infinity', '-Infinity', '1e30', '-1e-30', '0', '0.000', '12345678901234567890123.45' ],
		many => '(h % 1000000007) / 1000.0'
	},
	'numeric(10,2)' => {
		class => 'numeric', kind => 'numeric', extremes => 1, dense => sub { $_[0]->between(-30, 30) / 4 },
		special => [ '99999999.99', '-99999999.99', '0', 'NaN' ], many => '((h % 2000000 - 1000000) / 100.0)::numeric(10,2)'
	},
	'numeric(30,12)' => {
		class => 'numeric', kind => 'numeric', extremes => 1, dense => sub { $_[0]->between(-30, 30) / 8 },
		special => [ '999999999999999999.999999999999', '-0.000000000001', '0' ], many => '(h / 1000000007.0)::numeric(30,12)'
	},
	# Products of two of these have room in 64 bits.
	'numeric(9,3)' => {
		class => 'numeric', kind => 'numeric', extremes => 1, dense => sub { $_[0]->between(-40, 40) / 8 },
		special => [ '999999.999', '-999999.999', '0' ], many => '((h % 20000000 - 10000000) / 1000.0)::numeric(9,3)'
	},
	short_numeric => {
		sql => 'numeric', class => 'numeric', kind => 'numeric', extremes => 1, dense => sub { $_[0]->between(-9, 9) . $_[0]->pick('', '.5', '.50', '.250', 'e2') },
		special => [ '0', '0.00', '-0.000001', '123456789' ], many => '(h % 100003) / 100.0'
	},
	# Many that all show three digits, and others that don't or aren't finite: a run may be of integers, and the rows that come later not.
	scaled_numeric => {
		sql => 'numeric', class => 'numeric', kind => 'numeric', extremes => 1, dense => sub { $_[0]->between(-4000, 4000) / 8 . $_[0]->pick('', '', '0') },
		special => [ 'NaN', 'Infinity', '-Infinity', '0.000', '-0.001', '1e20' ], many => 'round((h % 100000007) / 1000.0, 3) - 50000'
	},
	bool => { class => 'bool', dense => sub { $_[0]->pick('true', 'false') }, special => ['true'], many => 'h % 2 = 0' },
	date => {
		class => 'date', extremes => 1, dense => sub { '2021-' . $_[0]->pick('03', '11') . '-' . $_[0]->pick('05' .. '15') },
		special => [ '-infinity', 'infinity', '4713-01-01 BC', '5874897-12-31', '2000-02-29' ], many => "date '1980-01-01' + (h % 30000)::int4"
	},
	timestamp => {
		class => 'timestamp', extremes => 1, dense => sub { _moment($_[0]) },
		special => [ '-infinity', 'infinity', '294276-12-31 23:59:59.999999', '4713-01-01 00:00:00 BC', '1999-12-31 23:59:59.999999' ],
		many => "timestamp '2020-01-01' + (h % 100000000000) * interval '1 microsecond'"
	},
	timestamptz => {
		class => 'timestamptz', extremes => 1, dense => sub { _moment($_[0]) . '+00' },
		special => [ '-infinity', 'infinity', '294276-12-31 12:00:00+00', '2021-03-14 07:00:00+00', '2021-11-07 05:30:00+00' ],
		many => "timestamptz '2020-01-01 00:00+00' + (h % 100000) * interval '1 minute'"
	},
	time => {
		class => 'time', extremes => 1, dense => sub { sprintf('%02d:%02d:00', $_[0]->between(0, 3), $_[0]->pick(0, 20, 40)) },
		special => [ '00:00:00', '24:00:00', '23:59:59.999999' ], many => "time '00:00' + (h % 86400) * interval '1 second'"
	},
	interval => {
		class => 'interval', kind => 'interval', extremes => 1, dense => sub { $_[0]->pick('1 mon', '30 days', '720:00:00', '1 day', '24:00:00', '-1 mon', '5 min') },
		special => [ '0', '-178000000 years', '178000000 years', '1 microsecond' ], many => "(h % 100000) * interval '1 minute'"
	},
	text => {
		class => 'text', extremes => 1, dense => sub { $_[0]->pick('', 'a', 'B', 'abc ', '%_', 'é', 'zz') . $_[0]->between(0, 30) },
		special => [ '', ' ', 'A', 'a', '12', 'x' x 300, "it''s", 'ß' ], many => 'md5(h::text)'
	},
	c_text => {
		sql => 'text COLLATE "C"', class => 'text', extremes => 1, dense => sub { $_[0]->pick('a', 'B', 'Zz', 'é') . $_[0]->between(0, 9) },
		special => [ '', ' ', '7', 'É' ], many => "chr((65 + h % 26)::int4) || h % 1000"
	},
	icu_text => {
		sql => 'text COLLATE "en-x-icu"', class => 'text', extremes => 1, dense => sub { $_[0]->pick('a', 'A', 'é', 'e', 'z-', 'Z') . $_[0]->between(0, 9) },
		special => [ '', 'a b', 'ab', 'É' ], many => 'md5(h::text)'
	},
	# 'A1' and 'a1' are equal.
	caseless => {
		sql => 'text COLLATE caseless', class => 'caseless', kind => 'caseless', dense => sub { $_[0]->pick('a', 'A', 'b', 'B') . $_[0]->between(0, 5) },
		special => [ '', 'A' ], many => "chr((65 + h % 26 + h % 2 * 32)::int4) || h % 100"
	},
	'varchar(12)' => { class => 'text', extremes => 1, dense => sub { 'v' . $_[0]->between(0, 40) }, special => [ '', 'v ' ], many => "'v' || h % 100000" },
	'char(4)' => { class => 'char', extremes => 1, dense => sub { $_[0]->pick('a', 'B', 'y ') . $_[0]->between(0, 9) }, special => [ '', 'zzzz' ], many => "to_hex(h % 65536)" },
	uuid => {
		class => 'other', dense => sub { sprintf('%08x-0000-4000-8000-%012x', $_[0]->between(0, 4), $_[0]->between(0, 5)) },
		special => [ '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff' ], many => 'md5(h::text)::uuid'
	},
	mood => { class => 'other', extremes => 1, dense => sub { $_[0]->pick('sad', 'ok', 'happy') }, special => ['elated'], many => "(enum_range(NULL::mood))[1 + h % 4]" },
	inet => {
		class => 'other', extremes => 1, dense => sub { '10.0.' . $_[0]->between(0, 3) . '.' . $_[0]->between(0, 9) . $_[0]->pick('', '', '/24') },
		special => [ '::1', '0.0.0.0/0' ], many => "inet '10.0.0.0' + h % 65536"
	},
	bytea => { class => 'other', dense => sub { '\x' . join('', map { sprintf '%02x', $_[0]->between(0, 3) } 1 .. $_[0]->between(0, 3)) }, special => ['\x00ff'], many => "decode(md5(h::text), 'hex')" },
	'int4[]' => { class => 'other', extremes => 1, dense => sub { '{' . join(',', map { $_[0]->pick(1, 2, 'NULL') } 1 .. $_[0]->between(0, 3)) . '}' }, special => ['{}'], many => 'ARRAY[(h % 1000)::int4]' },
	jsonb => { class => 'other', dense => sub { '{"a": ' . $_[0]->between(0, 9) . '}' }, special => [ 'null', '[]' ], many => "jsonb_build_object('a', h % 1000)" },
	oid => { class => 'oid', extremes => 1, dense => sub { $_[0]->between(0, 25) }, special => [ 0, 2147483648, 4294967295 ], many => '(h % 4294967296)::oid' },
	money => { class => 'other', extremes => 1, dense => sub { $_[0]->between(-50, 50) / 4 }, special => ['92233720368547758.07'], many => '((h % 100000) / 100.0)::money' },
	pair => { class => 'other', dense => sub { '(' . $_[0]->between(0, 3) . ',' . $_[0]->pick('x', 'y', '') . ')' }, special => ['(,)'], many => "ROW((h % 100)::int4, 'z')::pair" },);

# Those that most columns have, and then all.
my @frequent = (qw(int2 int4 int4 int8 numeric float8 float4 bool date timestamp timestamptz text text c_text short_numeric), 'numeric(10,2)', 'numeric(9,3)', 'numeric(9,3)', 'scaled_numeric', sort keys %types);

sub _moment
{
	my ($random) = @_;
	return sprintf('2021-%s %02d:%02d:00', $random->pick('03-13', '03-14', '11-07'), $random->between(0, 8), $random->pick(0, 30));
}

# What is compared with a column besides values of its own type.
my %relatives = (
	(map { $_ => [qw(int2 int4 int8 numeric float8)] } qw(int2 int4 int8 positive)),
	(map { $_ => [qw(float4 float8 wide_float int4)] } qw(float4 float8 wide_float)),
	(map { $_ => [qw(numeric int4 int8 float8)] } 'numeric', 'numeric(10,2)', 'numeric(30,12)', 'numeric(9,3)', 'short_numeric', 'scaled_numeric'),
	(map { $_ => [qw(date timestamp timestamptz)] } qw(date timestamp timestamptz)),
	(map { $_ => [ 'text', 'varchar(12)', 'char(4)' ] } 'text', 'c_text', 'icu_text', 'varchar(12)', 'char(4)'));

sub relatives_of { my ($name) = @_; return @{ $relatives{$name} || [$name] }; }

sub type_names { return @frequent; }

sub type_of { my ($name) = @_; return $types{$name}; }

sub kind_of { my ($name) = @_; return $types{$name}{kind} || 'exact'; }

# The type's name without a collation.
sub sql_type { my ($name) = @_; return ($types{$name}{sql} || $name) =~ s/ COLLATE.*//r; }

sub literal_of { my ($name, $value) = @_; return "'$value'::" . sql_type($name); }

1;
