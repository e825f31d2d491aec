// Mirrors of runs: loading them (rule "Loading a mirror"), their dead bitmaps, and when loading pays.
#include "residency/residency.h"

#include "cost/cost.h"
#include "residency/obsolete_mirrors.h"
#include "residency/inventory.h"
#include "residency/page_load.h"
#include "residency/wanted_runs.h"
#include "progress.h"
#include "compat.h"
#include "settings.h"

namespace pg_gpu::client {

protocol::RunName run_name(Relation index, uint64 run_id) {
    const PhysicalPlace place = physical_place(index);
    // rd_backend is -1 for all but temporary indexes.
    return {place.tablespace,
            place.database,
            place.relation,
            static_cast<int32>(index->rd_backend),
            run_id,
            database_incarnation(MyDatabaseId),
            0};
}

protocol::Holder holder_of_mirrors(bool pinned) {
    return {GetSessionUserId(), pinned ? 1U : 0U, role_mirror_quota(), database_mirror_quota()};
}

bool is_worth_mirroring(const MirrorFormat &format, const storage::RunEntry &run) {
    const uint64 entries = format.mirrored_entries(run);
    const uint64 usual = format.usual_bytes == 0 ? 0 : uint64{run.pages} * BLCKSZ / format.usual_bytes;
    return entries > 0 && Max(entries, usual) >= min_mirror_entries();
}

LiveRuns live_runs(const RunSet &set) {
    LiveRuns live = {};
    for (int i = 0; i < set.count; i++)
        if (set.format->mirrored_entries(set.runs[i]) > 0) {
            Assert(live.count < kMaxRuns);
            live.places[live.count++] = i;
        }
    return live;
}

// ---- the directory now ------------------------------------------------------------------------------------

namespace {

struct Directory {
    storage::RunEntry *runs;
    int count;
    uint64 vacuum_seq;
};

}  // namespace

// Copies run list and vacuum_seq of one instant.
static Directory read_directory(Relation index, const storage::RunKind *kind) {
    Buffer buffer = storage::lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    Directory directory;
    directory.vacuum_seq = storage::meta_page(page)->vacuum_seq;
    directory.runs = storage::copy_directory(index, kind, page, &directory.count);
    UnlockReleaseBuffer(buffer);
    return directory;
}

static const storage::RunEntry *find_run(const Directory &directory, uint64 run_id) {
    for (int i = 0; i < directory.count; i++)
        if (directory.runs[i].run_id == run_id)
            return &directory.runs[i];
    return nullptr;
}

bool fail_as_recycled() {
    note_recycled();
    return fail(RequestFailure::NotWanted, "a run was merged away meanwhile");
}

// ---- dead bitmaps -----------------------------------------------------------------------------------------

// Copies the bitmap's first `bytes` to the transfer buffer. False when a page was recycled.
static bool copy_dead_bitmap(Relation index, const storage::RunEntry &run, uint64 bytes) {
    const storage::Section &section = run.sections[storage::kDeadBitmapSection];
    for (uint64 done = 0, page = 0; done < bytes; page++) {
        CHECK_FOR_INTERRUPTS();
        const storage::RunPage held =
            storage::read_run_page(index, run, section.first_page + static_cast<uint32>(page), nullptr);
        if (held.page == nullptr)
            return fail_as_recycled();
        const uint64 here = Min(bytes - done, uint64{storage::kDeadBitsPerPage / 8});
        memcpy(buffer_at(done), static_cast<char *>(held.page) + run.dead_bitmap_offset, here);
        storage::release_run_page(held);
        done += here;
    }
    return true;
}

// Sends a run's bitmap as of a directory that was read before (rule "Loading a mirror"). A run without a
// counted dead entry may have some that a VACUUM marked before it broke off: their rows' line pointers are
// there still, and the heap decides.
static bool send_dead(const RunSet &set, const storage::RunEntry &run, uint64 version, Path path) {
    const uint64 entries = set.format->mirrored_entries(run);
    auto message = make_message<protocol::SetDead>(protocol::Message::set_dead, path);
    message.name = run_name(set.index, run.run_id);
    message.version = version;
    message.words = run.dead == 0 ? 0 : (entries + 63) / 64;
    const uint64 bytes = message.words * sizeof(uint64);
    if (bytes > 0 && (!need_buffer(bytes, bytes) || !copy_dead_bitmap(set.index, run, bytes)))
        return false;
    protocol::ReplyHeader reply;
    const double estimate = static_cast<double>(bytes) / kMebibyte * cost_constants().transfer;
    return exchange(&message, &reply, estimate) &&
           (result_of(reply) == protocol::ReplyResult::done || fail_by_reply(reply));
}

bool refresh_dead(const RunSet &set, const LiveRuns &live, Path path, uint64 stale) {
    const Directory directory = read_directory(set.index, set.kind);
    bool done = true;
    for (int i = 0; done && i < live.count; i++) {
        if (((stale >> i) & 1) == 0)
            continue;
        const storage::RunEntry *run = find_run(directory, set.runs[live.places[i]].run_id);
        done = run != nullptr ? send_dead(set, *run, directory.vacuum_seq, path) : fail_as_recycled();
    }
    pfree(directory.runs);
    return done;
}

// ---- loading ----------------------------------------------------------------------------------------------

// Pages of gpu.load, which were sent so far; -1 where a query loads, which has no progress of its own to
// show.
static int64 pages_reported = -1;
// gpu.load loads so many pages, and so many entries.
static int64 pages_to_load = 0;
static uint64 entries_to_load = 0;

static void begin_report(Relation index) {
    begin_build_report(index, kLoadSubphase);
    report_blocks(0, pages_to_load);
    begin_progress("load", RelationGetRelid(index), "sending pages", entries_to_load);
    pages_reported = 0;
}

static void end_report() {
    end_progress();
    end_build_report();
    pages_reported = -1;
}

static void report_pages(uint32 pages) {
    if (pages_reported < 0)
        return;
    pages_reported += pages;
    report_blocks(pages_reported, pages_to_load);
    if (pages_to_load > 0)
        set_progress(static_cast<uint64>(static_cast<double>(entries_to_load) *
                                         static_cast<double>(Min(pages_reported, pages_to_load)) /
                                         static_cast<double>(pages_to_load)));
}

// gpu.load may have helpers as CREATE INDEX has; a query that loads has not.
static int loading_workers() {
    return pages_reported < 0 ? 0 : max_parallel_maintenance_workers;
}

static bool drop_handle(uint64 handle, Path path) {
    auto message = make_message<protocol::HandleRequest>(protocol::Message::drop, path);
    message.handle = handle;
    protocol::ReplyHeader reply;
    return exchange(&message, &reply);
}

static void drop_mirror(const RunSet &set, uint64 run_id) {
    auto message = make_message<protocol::Evict>(protocol::Message::evict, Path::Host);
    message.name = run_name(set.index, run_id);
    protocol::EvictReply reply;
    exchange(&message, &reply);
}

// Makes a mirror under the run's name. The reasons of a failure outlive the tidying up.
static bool load_entries(const RunSet &set, const storage::RunEntry &run, Path path, bool pinned,
                         uint64 *bytes) {
    protocol::BeginReply begun;
    const NewMirror mirror = {&set, &run, path, pinned};
    if (!set.format->kind->begin(mirror, &begun))
        return false;
    // The mirror is there already.
    if (begun.handle == 0)
        return true;

    hold_on_server();
    if (!send_pages({&set, &run, begun.handle, path, loading_workers(), report_pages})) {
        if (is_connected()) {
            drop_handle(begun.handle, path);
            release_on_server();
        }
        return false;
    }
    auto finish = make_message<protocol::HandleRequest>(protocol::Message::finish, path);
    finish.handle = begun.handle;
    protocol::HandleReply finished;
    if (!exchange(&finish, &finished, finish_microseconds(set, run, path)))
        return false;
    release_on_server();
    if (result_of(finished.header) == protocol::ReplyResult::disorder)
        storage::report_corruption(set.index,
                                   storage::run_block(run, run.sections[storage::kEntrySection].first_page),
                                   "Entries of a run are not in order.");
    if (result_of(finished.header) != protocol::ReplyResult::done)
        return fail_by_reply(finished.header);
    *bytes += finished.bytes;
    return true;
}

// The rule "Loading a mirror" has vacuum_seq read first, then the pages, then the bitmap; the run must still
// be listed after that.
static bool load_run(const RunSet &set, uint64 run_id, Path path, bool pinned, uint64 *bytes) {
    const Directory before = read_directory(set.index, set.kind);
    const storage::RunEntry *run = find_run(before, run_id);
    const bool loaded = run == nullptr ? fail_as_recycled()
                                       : load_entries(set, *run, path, pinned, bytes) &&
                                             send_dead(set, *run, before.vacuum_seq, path);
    pfree(before.runs);
    if (!loaded)
        return false;
    const Directory after = read_directory(set.index, set.kind);
    const bool listed = find_run(after, run_id) != nullptr;
    pfree(after.runs);
    if (!listed)
        drop_mirror(set, run_id);
    return listed || fail_as_recycled();
}

// Loads one of a request's runs; false when it isn't there then.
static bool load_wanted(const RunSet &set, int place, Path path) {
    uint64 bytes = 0;
    instr_time began;
    INSTR_TIME_SET_CURRENT(began);
    if (load_run(set, set.runs[place].run_id, path, false, &bytes)) {
        note_load(load_microseconds(set, place, path), microseconds_since(began));
        note_loaded(set, place, path);
        return true;
    }
    if (last_failure() == RequestFailure::Busy)
        note_loading(set, place, path);
    // Others may find room then, and this session at its next try.
    if (last_failure() == RequestFailure::Memory) {
        note_no_room(set, place, path);
        drop_obsolete_mirrors();
    }
    return false;
}

bool load_lacking(const RunSet &set, const LiveRuns &live, const Choice &choice, uint64 lacking) {
    const uint64 all_entries = live_entries(set, live);
    bool all_there = true;
    pages_reported = -1;
    for (int i = 0; i < live.count; i++) {
        if (((lacking >> i) & 1) == 0)
            continue;
        const int place = live.places[i];
        if (!may_load(set, place, choice, all_entries))
            all_there = false;
        else if (!load_wanted(set, place, choice.path))
            return false;
    }
    return all_there;
}

// ---- gpu.load and gpu.evict -------------------------------------------------------------------------------

namespace {

// The progress of loading an index, in pages of its file.
struct Loading {
    int64 pages;
    int64 left;  // not loaded, when a load has failed
};

}  // namespace

[[noreturn]] static void report_not_loaded(Relation index, const Loading &loading) {
    const bool full = last_failure() == RequestFailure::Memory;
    ereport(
        ERROR,
        (errcode(full ? ERRCODE_OUT_OF_MEMORY : ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
         errmsg("cannot load index \"%s\"", RelationGetRelationName(index)),
         loading.left > 0 ? errdetail("The reason is: %s. Of the index's %lld kB, %lld kB are not loaded.",
                                      last_reason(), static_cast<long long>(loading.pages * (BLCKSZ / 1024)),
                                      static_cast<long long>(loading.left * (BLCKSZ / 1024)))
                          : errdetail("The reason is: %s.", last_reason()),
         full ? errhint("Raise pg_gpu.device_memory_limit or pg_gpu.host_memory_limit, or evict another "
                        "index.")
              : 0));
}

// Another session may load the same run, or a merge take it away: the next look at the directory tells.
static bool is_worth_another_look() {
    return last_failure() == RequestFailure::Busy || last_failure() == RequestFailure::NotWanted;
}

// Finds the engine to load on: where the setting leaves the choice the device, if there is one.
static bool find_engine_to_load(Path *path) {
    *path = path_setting() == PathSetting::Host ? Path::Host : Path::Cuda;
    if (await_engine(*path))
        return true;
    if (path_setting() == PathSetting::Cuda || !is_connected())
        return false;
    *path = Path::Host;
    return await_engine(*path);
}

// True when all runs of the present list are there.
static bool load_listed_runs(Relation index, const storage::RunKind *kind, const MirrorFormat *format,
                             Path path, bool pinned, uint64 *bytes, Loading *loading) {
    const Directory directory = read_directory(index, kind);
    const RunSet set = {index, kind, format, directory.runs, directory.count, directory.vacuum_seq};
    bool complete = true;
    drop_outlived_mirrors(set);
    *loading = {};
    entries_to_load = 0;
    for (int i = 0; i < set.count; i++)
        if (is_worth_mirroring(*format, set.runs[i])) {
            loading->pages += mirrored_pages(*format, set.runs[i]).count;
            entries_to_load += format->mirrored_entries(set.runs[i]);
        }
    pages_to_load = loading->pages;
    begin_report(index);
    for (int i = 0; i < set.count; i++) {
        if (!is_worth_mirroring(*format, set.runs[i]))
            continue;
        complete = complete && load_run(set, set.runs[i].run_id, path, pinned, bytes);
        if (complete)
            note_loaded(set, i, path);
        else
            loading->left += mirrored_pages(*format, set.runs[i]).count;
    }
    pfree(directory.runs);
    end_report();
    return complete;
}

// Tells of what no device had room for, since requests take longer then.
static void report_overflow(Relation index) {
    Inventory<protocol::MirrorRow> mirrors;
    uint64 bytes = 0;
    list_mirrors(&mirrors);
    for (uint64 i = 0; i < mirrors.count; i++) {
        const protocol::MirrorRow &mirror = mirrors.rows[i];
        if (mirror.name == run_name(index, mirror.name.run) && mirror.device < 0 &&
            mirror.engine == static_cast<uint32>(protocol::EngineName::cuda))
            bytes += mirror.bytes;
    }
    if (mirrors.rows != nullptr)
        pfree(mirrors.rows);
    if (bytes > 0)
        ereport(NOTICE, (errmsg("%llu kB of index \"%s\" lie in the machine's memory",
                                static_cast<unsigned long long>((bytes + 1023) / 1024),
                                RelationGetRelationName(index)),
                         errdetail("No device has room for them.")));
}

uint64 load_index(Relation index, const storage::RunKind *kind, const MirrorFormat *format, bool pinned) {
    constexpr long kPauseMs = 20;
    uint64 bytes = 0;
    drop_obsolete_mirrors();
    begin_purpose();
    // Whoever asks for a load has it, whatever became of the last one.
    set_subject({});
    for (;;) {
        Path path;
        Loading loading = {};
        if (!find_engine_to_load(&path))
            report_not_loaded(index, loading);
        if (load_listed_runs(index, kind, format, path, pinned, &bytes, &loading)) {
            if (path == Path::Cuda)
                report_overflow(index);
            return bytes;
        }
        if (!is_worth_another_look())
            report_not_loaded(index, loading);
        pause_for(kPauseMs);
    }
}

uint64 evict_index(Relation index) {
    if (!connect_to_server()) {
        // Nothing is resident when there is no server.
        if (last_failure() == RequestFailure::NoServer || !server_wanted())
            return 0;
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("cannot evict index \"%s\"", RelationGetRelationName(index)),
                        errdetail("The reason is: %s.", last_reason())));
    }
    auto message = make_message<protocol::Evict>(protocol::Message::evict, Path::Host);
    message.name = run_name(index, 0);
    protocol::EvictReply reply;
    if (!exchange(&message, &reply) ||
        (result_of(reply.header) != protocol::ReplyResult::done && !fail_by_reply(reply.header)))
        ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
                        errmsg("cannot evict index \"%s\"", RelationGetRelationName(index)),
                        errdetail("The reason is: %s.", last_reason())));
    return reply.bytes;
}

// Reports to the server, if this session is connected, that a run is no more.
static void forget_run(Relation index, const storage::RunEntry &run) {
    if (!is_connected() || !connect_to_server())
        return;
    auto message = make_message<protocol::Evict>(protocol::Message::evict, Path::Host);
    message.name = run_name(index, run.run_id);
    protocol::EvictReply reply;
    exchange(&message, &reply);
}

void forget_inputs(Relation index, const storage::RunEntry *inputs, int count) {
    constexpr uint64 kLargeRun = 1000000;
    for (int i = 0; i < count; i++)
        if (inputs[i].entries >= kLargeRun)
            forget_run(index, inputs[i]);
}

}  // namespace pg_gpu::client
