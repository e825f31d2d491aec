# What initdb makes is the same for nearly all clusters of the tests. So it is made once and copied, which takes a tenth
# of the processor time. (PostgreSQL's own tests do the same from PostgreSQL 17 on, where initdb gets no further
# arguments.)
package PgGpuTest::Template;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use File::Path qw(rmtree);
use File::Temp ();
use PostgreSQL::Test::Utils;

our @EXPORT = qw(init_from_template);

# Does what $node->init(%params) does, with copies in place of initdb.
sub init_from_template
{
	my ($node, %params) = @_;
	my $run = \&PostgreSQL::Test::Utils::system_or_bail;
	no warnings 'redefine';
	local *PostgreSQL::Test::Utils::system_or_bail = sub {
		my ($program, $option, $folder, @arguments) = @_;
		return $run->(@_) unless $program eq 'initdb' && $option eq '-D';
		return $run->('cp', '-RPp', _template($run, @arguments), $folder);
	};
	$node->init(%params);
	return;
}

# Returns the folder that initdb made of these arguments. Tests that run at the same time may both make it; one of them
# comes first.
sub _template
{
	my ($run, @arguments) = @_;
	my $templates = "$PostgreSQL::Test::Utils::tmp_check/templates";
	mkdir $templates;
	my ($program) = grep { -x } map { "$_/initdb" } split /:/, $ENV{PATH};
	my $made = (stat $program)[9];
	my $template = "$templates/" . join('_', $made, @arguments) =~ s/[^\w=-]/_/gr;
	return $template if -e $template;
	my $own = File::Temp::tempdir(DIR => $templates);
	$run->('initdb', '-D', "$own/data", @arguments);
	rename "$own/data", $template or -e $template or die "cannot rename $own/data: $!";
	rmtree($own);
	return $template;
}

1;
