# Sourced by test/versions, test/packages, test/arm64 and test/dockerfile: Debian, and Ubuntu, in folders of their own, made from
# their packages.
# The caller sets $root, the checkout.
# shellcheck shell=bash disable=SC2154

# PG_GPU_CHROOTS        folder of the chroots; kept between runs
# PG_GPU_MIRROR         where Debian's packages come from
# PG_GPU_SECURITY_MIRROR  and their security updates
# PG_GPU_UBUNTU_MIRROR  where Ubuntu's packages come from
# PG_GPU_UBUNTU_KEYRING   the keys they are signed with; without that file get_keys takes them from a package of Debian 13
# PG_GPU_APT_OPTIONS    options of apt inside, one a line
# PG_GPU_CUDA_TOOLKIT   a folder that is inside too, by its name, and as /usr/local/cuda
: "${PG_GPU_CHROOTS:=$root/build/chroots}"
: "${PG_GPU_MIRROR:=http://deb.debian.org/debian}"
: "${PG_GPU_SECURITY_MIRROR:=http://deb.debian.org/debian-security}"
: "${PG_GPU_UBUNTU_MIRROR:=http://archive.ubuntu.com/ubuntu}"
: "${PG_GPU_UBUNTU_KEYRING:=/usr/share/keyrings/ubuntu-archive-keyring.gpg}"
: "${PG_GPU_APT_OPTIONS:=}"

need_root() {
    [ "$(id -u)" -eq 0 ] || { echo "$(basename "$0"): chroots need root" >&2; exit 2; }
    command -v mmdebstrap >/dev/null ||
        { echo "$(basename "$0"): mmdebstrap is not here. Hint: apt-get install mmdebstrap" >&2; exit 2; }
}

# The release of Debian that has this version of PostgreSQL. None has 16.
release_of() {
    case $1 in
        15) echo bookworm ;;
        17) echo trixie ;;
        18) echo sid ;;
        *) echo "$(basename "$0"): no release of Debian is known to have PostgreSQL $1" >&2; return 1 ;;
    esac
}

is_ubuntu() {
    [ "$1" = noble ] || [ "$1" = resolute ]
}

apt_options() {
    printf '%s\n' 'APT::Install-Recommends "false"' 'APT::Install-Suggests "false"'
    # Unstable's lists are dated, and a mirror's may be some days old.
    [ "$1" != sid ] || echo 'Acquire::Check-Valid-Until "false"'
    [ -z "$PG_GPU_APT_OPTIONS" ] || printf '%s\n' "$PG_GPU_APT_OPTIONS"
}

# A release with its updates, as those who use it have it: minor releases of PostgreSQL come by them.
sources_of() {
    local pocket
    if is_ubuntu "$1"; then
        for pocket in "$1" "$1-updates" "$1-security"; do
            echo "deb $PG_GPU_UBUNTU_MIRROR $pocket main universe"
        done
        return 0
    fi
    echo "deb $PG_GPU_MIRROR $1 main"
    [ "$1" != sid ] || return 0
    echo "deb $PG_GPU_MIRROR $1-updates main"
    echo "deb $PG_GPU_SECURITY_MIRROR $1-security main"
}

# make_chroot FOLDER RELEASE[,ARCHITECTURE] PACKAGE...: unless it is there already.
make_chroot() {
    local folder=$1 release=${2%,*} packages options=() option
    [[ $2 != *,* ]] || options+=("--architectures=${2#*,}")
    shift 2
    [ ! -e "$folder/made" ] || return 0
    while read -r option; do
        options+=("--aptopt=$option")
    done < <(apt_options "$release")
    ! is_ubuntu "$release" || options+=("--keyring=$PG_GPU_UBUNTU_KEYRING")
    packages=$(IFS=, && echo "$*")
    remove_chroot "$folder"
    mkdir -p "$(dirname "$folder")"
    # No cluster is wanted of Debian's postgresql package.
    mmdebstrap --quiet --mode=root --variant=apt "${options[@]}" --include="$packages" \
        --essential-hook='mkdir -p "$1/etc/postgresql-common/createcluster.d" &&
            echo "create_main_cluster = false" >"$1/etc/postgresql-common/createcluster.d/pg_gpu.conf"' \
        "$release" "$folder" - < <(sources_of "$release") && touch "$folder/made"
}

# make_bare_chroot FOLDER RELEASE: always anew, with nothing but what the release marks essential and apt, as container images
# are.
make_bare_chroot() {
    remove_chroot "$1"
    mkdir -p "$(dirname "$1")"
    local options=()
    # Unstable's lists are dated, and a mirror's may be some days old.
    [ "$2" != sid ] || options=('--aptopt=Acquire::Check-Valid-Until "false"')
    # There apt isn't among what is required.
    ! is_ubuntu "$2" || options=("--keyring=$PG_GPU_UBUNTU_KEYRING" --include=apt)
    mmdebstrap --quiet --mode=root --variant=minbase "${options[@]}" "$2" "$1" - < <(sources_of "$2")
}

# get_keys RELEASE: what a release of Ubuntu is signed with. Debian 12 has no package of these keys.
get_keys() {
    if ! is_ubuntu "$1" || [ -e "$PG_GPU_UBUNTU_KEYRING" ]; then
        return 0
    fi
    local folder=$PG_GPU_CHROOTS/keys
    make_chroot "$folder" trixie ubuntu-keyring || return
    PG_GPU_UBUNTU_KEYRING=$folder/usr/share/keyrings/ubuntu-archive-keyring.gpg
}

remove_chroot() {
    rm -rf --one-file-system "$1"
}

# in_chroot FOLDER COMMAND...: with mounts that end with the command.
in_chroot() {
    local folder=$1
    shift
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --fork bash -c '
        folder=$1
        shift
        mount --make-rprivate / &&
            mount --rbind /dev "$folder/dev" &&
            mount -t proc proc "$folder/proc" &&
            { [ -z "${PG_GPU_CUDA_TOOLKIT:-}" ] ||
                { toolkit=$(realpath "$PG_GPU_CUDA_TOOLKIT") && mkdir -p "$folder$toolkit" && mount --rbind "$toolkit" "$folder$toolkit" &&
                    { [ "$toolkit" = /usr/local/cuda ] || ln -sfT "$toolkit" "$folder/usr/local/cuda"; }; }; } &&
            exec chroot "$folder" /usr/bin/env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 \
                PATH=/usr/lib/ccache:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"' \
        in_chroot "$folder" "$@"
}

# The checkout's files, as git has them and as they are now, in a folder.
copy_checkout() {
    mkdir -p "$1"
    (cd "$root" && git ls-files -z --cached --others --exclude-standard |
        while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
        tar -c --null -T - | tar -x -C "$1")
}

# The same in the chroot's /src. What was built there stays.
copy_sources() {
    mkdir -p "$1/src"
    find "$1/src" -mindepth 1 -maxdepth 1 ! -name build ! -name pg_gpu.so -exec rm -rf {} +
    copy_checkout "$1/src"
}
