package PgGpuTest::Random;

# A random number generator with a seed of its own.
#
# Perl's rand() won't do: PostgreSQL::Test draws from it to find free ports,
# so the same seed would give other numbers on a busier machine.

use strict;
use warnings;

# $seed: any integer.
sub new
{
	my ($class, $seed) = @_;
	my $self = bless { state => ($seed ^ (0x9E3779B9 << 32 | 0x7F4A7C15)) || 1 }, $class;
	$self->bits for 1 .. 8;    # spread a small seed over all 64 bits
	return $self;
}

# 64 random bits as an unsigned integer (xorshift64).
sub bits
{
	my $self = shift;
	my $x = $self->{state};
	$x ^= $x << 13;
	$x ^= $x >> 7;
	$x ^= $x << 17;
	return $self->{state} = $x;
}

# An integer with $low <= result <= $high.
sub between
{
	my ($self, $low, $high) = @_;
	return $low + $self->bits % ($high - $low + 1);
}

# True once in $n times.
sub once_in
{
	my ($self, $n) = @_;
	return $self->bits % $n == 0;
}

# One element of a list.
sub pick
{
	my ($self, @list) = @_;
	return $list[ $self->bits % @list ];
}

# Draws a key of a table: mostly from the dense middle (so that keys repeat and ranges hit), sometimes any number of the
# type, sometimes its limits. $type is int2, int4 or int8; $spread is the width of the dense middle.
sub key
{
	my ($self, $type, $spread) = @_;
	my $bits = $type eq 'int8' ? 64 : $type eq 'int4' ? 32 : 16;
	my $case = $self->between(0, 19);
	return $self->pick($self->limits($type)) if $case == 0;
	if ($case == 1)
	{
		return unpack('q', pack('Q', $self->bits)) if $bits == 64;
		return $self->between(-2**($bits - 1), 2**($bits - 1) - 1);
	}
	$spread = 60000 if $bits == 16 && $spread > 60000;
	return $self->between(-int($spread / 2), int($spread / 2));
}

# The smallest and largest values of a type and their neighbours.
sub limits
{
	my ($self, $type) = @_;
	return (-32768, -32767, 32766, 32767) if $type eq 'int2';
	return (-2147483648, -2147483647, 2147483646, 2147483647)
	  if $type eq 'int4';
	return (
		'-9223372036854775808', '-9223372036854775807',
		'9223372036854775806', '9223372036854775807');
}

1;
