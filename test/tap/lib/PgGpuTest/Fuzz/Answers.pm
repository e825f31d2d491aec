package PgGpuTest::Fuzz::Answers;

# What psql answers, and whether two answers are the same.
#
#   my $session = PgGpuTest::Fuzz::Answers->new;      # of the server that PGHOST and the like name
#   my @answers = $session->ask([ 'SELECT 1', 'SELECT 1/0' ], ['TABLE t']);    # of each list of statements
#   $answers[0]{rows}                                 # lists of fields; NULL is \N
#   $answers[0]{error}                                # the SQLSTATE of the first error, or undef
#   difference($answers[0], $answers[1], $statement)  # in words; '' when there is none

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
our @EXPORT = qw(difference);

use IPC::Open2 qw(open2);

my $separator = "\x1f";
my $mark = 'end of what was asked';
my $reached = 'all was asked';

sub new
{
	my ($class) = @_;
	my $self = bless {}, $class;
	$self->{process} = open2($self->{output}, $self->{input},
		"exec psql -X -q -A -t -F '$separator' -P 'null=\\N' -v VERBOSITY=sqlstate 2>&1");
	binmode($_, ':utf8') foreach $self->{output}, $self->{input};
	$self->ask([ 'SET client_min_messages = warning', "SET statement_timeout = '100s'" ]);
	return $self;
}

# All lists are sent at once. Dies when the session ends.
sub ask
{
	my ($self, @lists) = @_;
	local $SIG{PIPE} = 'IGNORE';
	print { $self->{input} } map { (map { "$_;\n" } @$_), "SELECT '$reached';\n\\echo $mark\n" } @lists;
	$self->{input}->flush;
	my @answers;
	foreach my $list (@lists)
	{
		my $last = '';
		my $answer = { rows => [], error => undef, warnings => [] };
		while (1)
		{
			my $line = readline($self->{output});
			die "the session has ended\n" unless defined $line;
			chomp $line;
			last if $line eq $mark;
			$last = $line;
			if ($line =~ /^(?:ERROR|FATAL|PANIC):  (\w{5})$/) { $answer->{error} //= $1; }
			elsif ($line =~ /^(?:WARNING|server closed|psql:|connection to server)/) { push @{ $answer->{warnings} }, $line; }
			elsif ($line ne $reached) { push @{ $answer->{rows} }, [ split /$separator/, $line, -1 ]; }
		}
		# Psql goes on waiting for the end of a statement whose parentheses don't match.
		die "not whole statements: @$list\n" unless $last eq $reached || $last =~ /^ERROR:  25P02$/;
		push @answers, $answer;
	}
	return @answers;
}

# Statements that must not fail.
sub run
{
	my ($self, @statements) = @_;
	my ($answer) = $self->ask([@statements]);
	die "failed with $answer->{error}: @statements\n" if defined $answer->{error};
	return map { $_->[0] } @{ $answer->{rows} };
}

sub process { my ($self) = @_; return $self->{process}; }

sub finish
{
	my ($self) = @_;
	close($self->{input});
	close($self->{output});
	waitpid($self->{process}, 0);
	return;
}

# ---- comparing --------------------------------------------------------------------------------------------

# One text for all values that are equal.
my %canonical = (
	exact => sub { $_[0] },
	ignored => sub { '' },
	float => sub { $_[0] eq '-0' ? '0' : $_[0] },
	numeric => sub { my $text = $_[0]; $text =~ s/\.?0+$// if $text =~ /\./; return $text; },
	caseless => sub { lc $_[0] },
	interval => sub { _microseconds($_[0]) },
	# Sums in other orders differ in their last digits.
	approximate => sub { $_[0] =~ /^-?[\d.]/ ? '' : $_[0] },);

# In months of 30 days, as comparisons have it.
sub _microseconds
{
	my ($text) = @_;
	return $text unless $text =~ /^[-+\d]/;
	my ($months, $days, $seconds) = (0, 0, 0);
	$months += 12 * $1 if $text =~ /([-+]?\d+) years?/;
	$months += $1 if $text =~ /([-+]?\d+) mons?/;
	$days += $1 if $text =~ /([-+]?\d+) days?/;
	$seconds = ($1 eq '-' ? -1 : 1) * ($2 * 3600 + $3 * 60 + $4) if $text =~ /([-+]?)(\d+):(\d+):([\d.]+)/;
	return (($months * 30) + $days) * 86400 + $seconds;
}

sub _are_close
{
	my ($one, $other) = @_;
	return 1 if $one eq $other;
	return 0 if "$one$other" =~ /[^-+.\de]/;
	my $size = abs($one) > abs($other) ? abs($one) : abs($other);
	return abs($one - $other) <= 1e-6 * $size + 1e-4;
}

sub _canonical_rows
{
	my ($answer, $statement) = @_;
	my @rows;
	foreach my $row (@{ $answer->{rows} })
	{
		my $text = join $separator, map { $canonical{ $statement->{kinds}[$_] // 'exact' }->($row->[$_]) } 0 .. $#$row;
		push @rows, [ $text, [ map { $row->[$_] } grep { ($statement->{kinds}[$_] // 'exact') eq 'approximate' } 0 .. $#$row ], join('|', @$row) ];
	}
	@rows = sort { $a->[0] cmp $b->[0] || _by_number($a->[1], $b->[1]) } @rows unless $statement->{is_ordered};
	return @rows;
}

sub _by_number
{
	my ($one, $other) = @_;
	foreach my $i (0 .. $#$one)
	{
		no warnings 'numeric';
		my $order = $one->[$i] <=> $other->[$i] || 0;
		return $order if $order;
	}
	return 0;
}

# Of what PostgreSQL's own plan and another answer.
sub difference
{
	my ($expected, $given, $statement) = @_;
	return join(' ', 'warnings:', @{ $given->{warnings} }) if @{ $given->{warnings} };
	my ($error, $other) = ($expected->{error}, $given->{error});
	if (defined $error || defined $other)
	{
		return "error $other" if defined $other && $other =~ /^XX/;
		return '' if defined $error && defined $other && ($error eq $other || keys %{ $statement->{risks} } > 1);
		# After an error the node has PostgreSQL's own plan answer, so that it fails only where that does.
		return '' if keys %{ $statement->{risks} } && !defined $other && ($statement->{order_decides} || $statement->{has_limit});
		# That plan may join tables in another order than the planner's best one does, so that conditions meet other rows.
		return '' if keys %{ $statement->{risks} } && !defined $error && ($statement->{has_limit} || $statement->{has_joins});
		return 'error ' . ($other // 'none') . ' instead of ' . ($error // 'none');
	}
	my @expected = _canonical_rows($expected, $statement);
	my @given = _canonical_rows($given, $statement);
	foreach my $i (0 .. ($#expected > $#given ? $#expected : $#given))
	{
		my ($one, $two) = ($expected[$i], $given[$i]);
		next if $one && $two && $one->[0] eq $two->[0] && !grep { !_are_close($one->[1][$_], $two->[1][$_]) } 0 .. $#{ $one->[1] };
		return sprintf("%d rows instead of %d; row %d is\n  %s instead of\n  %s", scalar @given, scalar @expected, $i + 1, $two ? $two->[2] : 'none', $one ? $one->[2] : 'none');
	}
	return '';
}

1;
