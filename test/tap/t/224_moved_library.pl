# suite: check
# The library and the server process in a folder that isn't PostgreSQL's own, as an image of an extension is mounted into a
# container: dynamic_library_path names the folder, and from PostgreSQL 18 on extension_control_path another one beside it. The
# server process that runs is the one beside the library that was loaded.

use strict;
use warnings FATAL => 'all';

use File::Copy qw(copy);
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::RealBin/../lib";
use PgGpuTest::Faults;
use PgGpuTest::Server;
use PgGpuTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($own, $share, $version) = map { configured("--$_") } qw(pkglibdir sharedir version);
my $finds_control_files = $version =~ /^PostgreSQL (\d+)/ && $1 >= 18;

# ---- the image ------------------------------------------------------------------------------------------------------

my $image = PostgreSQL::Test::Utils::tempdir() . '/image';
make_path("$image/lib", "$image/share/extension");
foreach my $file ('pg_gpu.so', 'pg_gpu_server')
{
	copy("$own/$file", "$image/lib/$file") or die "cannot copy $own/$file: $!";
	chmod 0755, "$image/lib/$file" or die "cannot change the mode of $image/lib/$file: $!";
}
copy($_, "$image/share/extension/") or die "cannot copy $_: $!" foreach glob "$share/extension/pg_gpu--*.sql";
append_to_file("$image/share/extension/pg_gpu.control",
	slurp_file("$share/extension/pg_gpu.control") =~ s/^comment = .*/comment = 'of the image'/mr);

my $conf = "dynamic_library_path = '$image/lib:\$libdir'\n";
$conf .= "extension_control_path = '$image/share:\$system'\n" if $finds_control_files;
my $node = new_cluster('main', conf => $conf, extension => 0);

# ---- the library ----------------------------------------------------------------------------------------------------

$node->safe_psql('postgres', 'CREATE EXTENSION pg_gpu');
SKIP:
{
	skip 'before PostgreSQL 18 control files are in PostgreSQL\'s own folder', 1 unless $finds_control_files;
	is($node->safe_psql('postgres', q{SELECT comment FROM pg_available_extensions WHERE name = 'pg_gpu'}),
		'of the image', 'the control file is the image\'s');
}
# Before 18 PostgreSQL takes `$libdir/pg_gpu`, as the control file names it, for its own folder; a packager of such an image
# would leave `$libdir/` out.
$node->safe_psql('postgres', q{UPDATE pg_proc SET probin = 'pg_gpu' WHERE probin = '$libdir/pg_gpu'}) unless $finds_control_files;
$node->safe_psql('postgres', 'CREATE TABLE t AS SELECT g AS k FROM generate_series(1, 20000) AS g; CREATE INDEX t_k ON t USING gpu_kary (k); VACUUM t');

# The files of that name that a process has mapped.
sub mapped
{
	my ($pid, $name) = @_;
	my %files = map { $_ => 1 } slurp_file("/proc/$pid/maps") =~ m{ (/\S*/\Q$name\E)$}mg;
	return join ' ', sort keys %files;
}

my $session = new_session($node);
is($session->query_safe(q{SELECT gpu.count('t_k', ARRAY[1], ARRAY[20000])}), 20000, 'a session answers');
is(mapped($session->query_safe('SELECT pg_backend_pid()'), 'pg_gpu.so'), "$image/lib/pg_gpu.so", 'by the image\'s library');
$session->quit;

# ---- the server process ---------------------------------------------------------------------------------------------

my $question = q{SELECT count(*) FROM gpu.lookup('t_k', ARRAY(SELECT g FROM generate_series(0, 2000) AS g))};

sub asks_the_images_server
{
	my ($when) = @_;
	local $Test::Builder::Level = $Test::Builder::Level + 1;
	ok(wait_until(sub { answers_by($node, $question, path => 'host') > 0 }), "$when: a server process answers");
	is(readlink('/proc/' . wait_for_server($node) . '/exe'), "$image/lib/pg_gpu_server", "$when: the one beside the library");
	return;
}

asks_the_images_server('on first use');
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_gpu'\n");
$node->restart;
asks_the_images_server('preloaded');

# Without it there is no other: the one in PostgreSQL's own folder may be of another version.
unlink "$image/lib/pg_gpu_server" or die "cannot remove the server process: $!";
my $from = -s $node->logfile;
$node->restart;
ok(wait_for_log($node, qr/could not start "\Q$image\E\/lib\/pg_gpu_server": No such file or directory/, $from),
	'the log says where a server process is missing');
is($node->safe_psql('postgres', $question), 2000, 'and sessions answer');

$node->stop;
done_testing();
