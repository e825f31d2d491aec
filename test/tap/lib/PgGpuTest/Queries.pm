package PgGpuTest::Queries;

# Lists of queries for PgGpuTest::check_queries: every form of question that a
# gpu_kary index on one integer key answers, with random constants.

use strict;
use warnings;

use Exporter 'import';
our @EXPORT = qw(key_queries join_queries setup_probe);

my @modes = qw(index index_only bitmap);

# Queries on one table. Options:
#   random    a PgGpuTest::Random
#   table     the table, with columns id and flag besides the key's
#   type      int4 or int8: the type of the indexed expression
#   key       the indexed expression, default k
#   where     the predicate of a partial index, or undef
#   order     the index's order: 'ASC' or 'DESC', with 'NULLS FIRST' or 'NULLS LAST'
#   spread    the width of the dense middle of the keys
#   wide      false: leave out queries that return most of a big table
sub key_queries
{
	my (%option) = @_;
	my $random = $option{random};
	my $table = $option{table};
	my $type = $option{type};
	my $key = $option{key} || 'k';
	my $spread = $option{spread};
	my $wide = exists $option{wide} ? $option{wide} : 1;
	my $expression = $key ne 'k';

	my $constant = sub { my $t = shift || $type; "'" . $random->key($t, $spread) . "'::$t" };
	# Draws two constants close to each other, the lower one first.
	my $range = sub {
		my $low = $random->between(-int($spread / 2), int($spread / 2));
		my $high = $low + $random->between(0, int($spread / 20) + 1);
		return ("'$low'::$type", "'$high'::$type");
	};
	# Makes an array with duplicates and NULLs in no order.
	my $array = sub {
		my ($t, $size) = @_;
		$t ||= $type;
		my @keys = map { $random->key($t, $spread) } 1 .. ($size || $random->between(1, 12));
		push @keys, $random->pick(@keys) if $random->once_in(2);
		push @keys, 'NULL' if $random->once_in(3);
		@keys = sort { $random->pick(-1, 1) } @keys if $random->once_in(2);
		return "'{" . join(',', @keys) . "}'::${t}[]";
	};

	my @wheres;
	my ($low, $high) = $range->();
	push @wheres, "$key = " . $constant->();
	push @wheres, "$key BETWEEN $low AND $high";
	($low, $high) = $range->();
	push @wheres, "$key > $low AND $key < $high";
	push @wheres, "$key >= $low AND $key > $low AND $key <= $high AND $key < $high";
	push @wheres, "$key > $high AND $key < $low";
	push @wheres, "$key = $low AND $key >= $low AND $key < $high";
	push @wheres, "$key = $low AND $key = $high";
	# The planner sees that nothing can match, and puts a one-time filter above the scan.
	my $contradiction = $wheres[-1];
	push @wheres, "$key = $low AND $key IS NOT NULL";
	push @wheres, "$key = $low AND $key IS NULL";
	push @wheres, "$key IS NULL";
	push @wheres, "$key = (SELECT NULL::$type)";
	push @wheres, "$key > (SELECT NULL::$type) AND $key < $high";
	push @wheres, "$key = (SELECT " . $constant->() . ")";

	# Operators of three types are used, with constants beyond the column's type among them.
	for my $t (qw(int2 int4 int8))
	{
		push @wheres, "$key = " . $constant->($t);
		push @wheres, "$key = ANY (" . $array->($t) . ")";
		my $from = $random->between(-int($spread / 2), int($spread / 2));
		$from = $from % 30000 if $t eq 'int2';
		my $to = $from + $random->between(0, 50);
		push @wheres, "$key >= '$from'::$t AND $key <= '$to'::$t";
	}
	push @wheres, "$key = ANY ('{-9223372036854775808,-2147483649,2147483648,9223372036854775807,3,NULL}'::int8[])";
	push @wheres, "$key > '-9223372036854775808'::int8 AND $key < '-2147483640'::int8";
	push @wheres, "$key >= '2147483640'::int8 AND $key <= '9223372036854775807'::int8";

	# Arrays use the whole of an index's array keys, alone and together.
	push @wheres, "$key = ANY ('{}'::${type}[])";
	push @wheres, "$key = ANY ('{NULL}'::${type}[])";
	push @wheres, "$key = ANY (" . $array->($type, 60) . ")";
	push @wheres, "$key = ANY ((SELECT " . $array->() . ")::${type}[])";
	push @wheres, "$key = ANY (" . $array->() . ") AND $key = ANY (" . $array->() . ")";
	push @wheres, "$key = ANY (" . $array->($type, 40) . ") AND $key > " . $constant->();
	push @wheres, "$key = ANY (" . $array->($type, 40) . ") AND $key BETWEEN $low AND $high";
	push @wheres, "$key = ANY (" . $array->($type, 40) . ") AND $key >= ANY (" . $array->() . ")";
	push @wheres, "$key = ANY (" . $array->('int8', 20) . ") AND $key = ANY (" . $array->('int2', 20) . ")";
	push @wheres, "$key < ANY ('{$1,NULL,$2}'::${type}[]) AND $key >= '$1'"
	  if "$low $high" =~ /'(-?\d+)'.*'(-?\d+)'/;
	push @wheres, "$key > ANY ('{NULL}'::${type}[])";

	if ($wide)
	{
		for my $operator (qw(< <= >= >))
		{
			push @wheres, "$key $operator " . $constant->();
			push @wheres, "$key $operator ANY (" . $array->() . ")";
			push @wheres, "$key $operator " . $constant->('int8');
			push @wheres, "$key $operator " . $constant->('int2');
		}
		push @wheres, "$key IS NOT NULL";
		push @wheres, "$key IS NOT NULL AND $key < " . $constant->();
	}

	my $and = $option{where} ? " AND $option{where}" : '';
	my @queries;
	for my $where (@wheres)
	{
		for my $mode (@modes)
		{
			# PostgreSQL never answers from the index alone where only an
			# expression on the table's column is stored.
			next if $mode eq 'index_only' && $expression;
			my $columns = $mode eq 'index_only' ? 'k' : "$key AS k, id, ctid";
			push @queries, { sql => "SELECT $columns FROM $table WHERE $where$and", mode => $mode };
		}
		push @queries, { sql => "SELECT count(*) AS k FROM $table WHERE $where$and", mode => 'count' }
		  if !$expression && $where ne $contradiction;
	}

	# The index is read in its order and in reverse, whole and limited.
	my ($direction, $nulls) = $option{order} =~ /^(ASC|DESC) NULLS (FIRST|LAST)$/
	  or die "unknown order $option{order}";
	my $reverse = ($direction eq 'ASC' ? 'DESC' : 'ASC') . ' NULLS ' . ($nulls eq 'FIRST' ? 'LAST' : 'FIRST');
	my $predicate = $option{where} || 'true';
	for my $order ($option{order}, $reverse)
	{
		for my $mode (qw(index index_only))
		{
			next if $mode eq 'index_only' && $expression;
			my $columns = $mode eq 'index_only' ? 'k' : "$key AS k, id, ctid";
			my $limited = $mode eq 'index_only' ? 'k' : "$key AS k";
			my @ordered = (
				"$key = ANY (" . $array->($type, 30) . ")",
				"$key = ANY (" . $array->('int8', 30) . ")",
				"$key BETWEEN $low AND $high",
				"$key > ANY (" . $array->() . ") AND $key BETWEEN $low AND $high",
				"$key = ANY (" . $array->($type, 30) . ") AND $key < " . $constant->('int2'));
			push @ordered, 'true', "$key IS NOT NULL" if $wide;
			for my $where (@ordered)
			{
				push @queries,
				  {
					sql => "SELECT $columns FROM $table WHERE $where$and ORDER BY $key $order",
					mode => $mode,
					ordered => 1
				  };
			}
			for my $where ('true', "$key IS NOT NULL", "$key >= $low", "$key <= $high", $ordered[0])
			{
				push @queries,
				  {
					sql => "SELECT $limited FROM $table WHERE $where$and ORDER BY $key $order LIMIT "
					  . $random->between(1, 30) . ' OFFSET ' . $random->between(0, 5),
					mode => $mode,
					ordered => 1
				  };
			}
		}
	}

	push @queries, { sql => "SELECT count(*) AS k FROM $table WHERE $predicate", mode => 'count' }
	  if !$expression && $wide;

	# These are aggregates that read one end of the index, and counts.
	for my $aggregate ("min($key)", "max($key)")
	{
		push @queries,
		  {
			sql => "SELECT $aggregate AS k FROM $table WHERE $predicate",
			mode => $expression ? 'index' : 'index_only'
		  };
		push @queries,
		  { sql => "SELECT $aggregate AS k FROM $table WHERE $key < " . $constant->() . $and, mode => 'index' };
	}
	if (!$expression)
	{
		push @queries, { sql => "SELECT count(*) AS k FROM $table WHERE $_$and", mode => 'index_only' }
		  for (
			"$key BETWEEN $low AND $high",
			"$key = " . $constant->(),
			"$key = ANY (" . $array->($type, 50) . ")",
			"$key IS NULL");
	}

	# OR turns into one bitmap of two scans.
	push @queries,
	  {
		sql => "SELECT $key AS k, id FROM $table WHERE ($key = "
		  . $constant->()
		  . " OR $key BETWEEN $low AND $high OR $key IS NULL)$and",
		mode => 'bitmap'
	  };
	return @queries;
}

# SQL that makes the tables join_queries joins with: probe_small (unsorted, with
# repeated keys and NULLs, three types) and probe_sorted (a btree to merge with).
sub setup_probe
{
	my ($random, $spread) = @_;
	my $value = sub {
		my ($type) = @_;
		return 'NULL' if $random->once_in(10);
		return "'" . $random->key($type, $spread) . "'";
	};
	my @small = map {
		my $low = $random->between(-int($spread / 2), int($spread / 2));
		"($_, " . join(', ', map { $value->($_) } qw(int2 int4 int8))
		  . ", $low, $low + " . $random->between(0, 20)
		  . ", ARRAY[" . join(',', map { $value->('int4') } 1 .. 4) . "]::int8[])"
	} 1 .. 25;
	my @sorted = map { '(' . $random->between(-int($spread / 2), int($spread / 2)) . ')' } 1 .. 60;
	push @sorted, $sorted[$_] for 0 .. 20;
	return join("\n",
		'DROP TABLE IF EXISTS probe_small, probe_sorted;',
		'CREATE TABLE probe_small (n int, v2 int2, v4 int4, v8 int8, low int8, high int8, many int8[]);',
		'INSERT INTO probe_small VALUES ' . join(', ', @small) . ';',
		'CREATE TABLE probe_sorted (v int8);',
		'INSERT INTO probe_sorted VALUES ' . join(', ', @sorted) . ';',
		'CREATE INDEX probe_sorted_v ON probe_sorted (v);',
		'ANALYZE probe_small, probe_sorted;',
		'');
}

# Queries that rescan the index (nested loops), mark and restore it (merge
# joins), or feed it from subplans. Same options as key_queries.
sub join_queries
{
	my (%option) = @_;
	my $table = $option{table};
	my $key = $option{key} || 'k';
	$key =~ s/\bk\b/t.k/;
	my $and = $option{where} ? " AND t.$option{where}" : '';
	my $expression = ($option{key} || 'k') ne 'k';
	my @queries;

	my %nested = (
		enable_hashjoin => 'off', enable_mergejoin => 'off',
		enable_material => 'off', enable_memoize => 'off');
	for my $mode (@modes)
	{
		next if $mode eq 'index_only' && $expression;
		my $columns = $mode eq 'index_only' ? 't.k AS k, p.n' : "$key AS k, t.id, p.n";
		# The probe table has no index, so it must be read sequentially.
		for my $condition (
			"$key = p.v2",
			"$key = p.v4",
			"$key = p.v8",
			"$key BETWEEN p.low AND p.high",
			"$key = ANY (p.many)",
			"$key = ANY (p.many) AND $key > p.low",
			"$key = p.v8 AND $key <= p.high")
		{
			push @queries,
			  {
				sql => "SELECT $columns FROM probe_small p JOIN $table t ON $condition$and",
				mode => $mode,
				settings => \%nested
			  };
		}
	}
	# This counts for every outer row.
	if (!$expression)
	{
		push @queries,
		  {
			sql => "SELECT (SELECT count(*) FROM $table t WHERE $_$and) AS k, p.n FROM probe_small p",
			mode => 'count',
			settings => { enable_seqscan => 'on' }
		  }
		  for ("t.k BETWEEN p.low AND p.high", "t.k = ANY (p.many)", "t.k = p.v8", "t.k > p.v2");
	}

	# A limited ordered scan for every outer row stops in mid-scan each time.
	my ($direction, $nulls) = $option{order} =~ /^(ASC|DESC) NULLS (FIRST|LAST)$/;
	push @queries,
	  {
		sql => "SELECT s.k, p.n FROM probe_small p, LATERAL (SELECT $key AS k FROM $table t"
		  . " WHERE $key >= p.low$and ORDER BY $key $direction NULLS $nulls LIMIT 3) s",
		mode => 'index',
		settings => \%nested
	  };

	# A merge join reads the index in its order only where that is an order its
	# partner can give as well: ascending or descending with NULLs as a btree has them.
	if ($option{order} eq 'ASC NULLS LAST' || $option{order} eq 'DESC NULLS FIRST')
	{
		my %merge = (
			enable_hashjoin => 'off', enable_nestloop => 'off', enable_material => 'off');
		for my $mode (qw(index index_only))
		{
			next if $mode eq 'index_only' && $expression;
			my $columns = $mode eq 'index_only' ? 't.k AS k, s.v' : "$key AS k, t.id, s.v";
			push @queries,
			  {
				sql => "SELECT $columns FROM probe_sorted s JOIN $table t ON $key = s.v WHERE true$and",
				mode => $mode,
				settings => \%merge
			  };
			push @queries,
			  {
				sql => "SELECT $columns FROM $table t LEFT JOIN probe_sorted s ON $key = s.v"
				  . " WHERE $key BETWEEN -20 AND 20$and",
				mode => $mode,
				settings => \%merge
			  };
		}
	}
	return @queries;
}

1;
