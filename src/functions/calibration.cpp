// Measuring the constants of the cost model.
#include "functions/calibration.h"

#include <algorithm>

#include "kary/gpu_kary.h"

namespace pg_gpu::functions {

static constexpr int kSmallRequests = 101;
static constexpr uint64 kKeysOfABatch = 100000;
static constexpr int kKeyBits = 64;
static constexpr double kMebibyte = 1048576.0;
static constexpr double kEntryBytes = sizeof(uint64) + sizeof(ItemPointerData);

double microseconds_since(const instr_time &start) {
    instr_time now;
    INSTR_TIME_SET_CURRENT(now);
    INSTR_TIME_SUBTRACT(now, start);
    return static_cast<double>(INSTR_TIME_GET_MICROSEC(now));
}

void choose(client::Path path) {
    set_config_option("pg_gpu.path", client::path_name(path), PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE,
                      true, 0, false);
}

// ---- an engine --------------------------------------------------------------------------------------------

namespace {

struct Sample {
    client::RunSet set;
    client::Choice choice;
    uint64 *keys;  // all of the run's, ascending
    ItemPointerData *tids;
    uint64 count;
    uint64 pages;
};

}  // namespace

// Returns the only run, which the build has written.
static client::RunSet read_set(Relation index) {
    const storage::RunKind *kind = kary::run_kind(index);
    Buffer buffer = storage::lock_metapage(index, kind, BUFFER_LOCK_SHARE);
    Page page = BufferGetPage(buffer);
    client::RunSet set = {index,   kind, kary::mirror_format(index),
                          nullptr, 0,    storage::meta_page(page)->vacuum_seq};
    set.runs = storage::copy_directory(index, kind, page, &set.count);
    UnlockReleaseBuffer(buffer);
    return set;
}

static double time_load(const Sample &sample) {
    client::evict_index(sample.set.index);
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    client::load_index(sample.set.index, sample.set.kind, sample.set.format, false);
    return microseconds_since(start);
}

// All entries of the run, which are kept for later measurements.
static double time_range(Sample *sample) {
    const uint64 low = 0;
    const uint64 high = PG_UINT64_MAX;
    client::EntriesResult result;
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    if (!kary::range_kary(sample->set, sample->choice, &low, &high, 1, true, &result))
        return -1;
    const double microseconds = microseconds_since(start);
    sample->count = result.runs[0].entries;
    if (sample->keys == nullptr) {
        sample->keys = allocate<uint64>(sample->count + 1);
        sample->tids = allocate<ItemPointerData>(sample->count + 1);
        memcpy(sample->keys, result.runs[0].keys, sample->count * sizeof(uint64));
        memcpy(sample->tids, result.runs[0].tids, sample->count * sizeof(ItemPointerData));
    }
    return microseconds;
}

static double time_lookup(const Sample &sample, const uint64 *keys, uint64 count) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    for (uint64 done = 0; done < count;) {
        client::EntriesResult result;
        if (!kary::lookup_kary(sample.set, sample.choice, keys + done, count - done, &result))
            return -1;
        done += result.items;
    }
    return microseconds_since(start);
}

// Microseconds to hand all entries over, without what sorting them takes.
static double time_transfer(const Sample &sample) {
    kary::ServerArray array;
    if (!kary::begin_sort(sample.choice, kKeyBits, sample.count, &array))
        return -1;
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    if (!kary::append_to_sort(&array, sample.keys, sample.tids, sample.count))
        return -1;
    const double microseconds = microseconds_since(start);
    kary::drop_kary(&array);
    return microseconds;
}

// Returns the microseconds of a lookup of one key; below 0 when one failed.
static double median_request(const Sample &sample) {
    double times[kSmallRequests];
    for (double &time : times) {
        CHECK_FOR_INTERRUPTS();
        time = time_lookup(sample, sample.keys, 1);
        if (time < 0)
            return -1;
    }
    std::nth_element(times, times + kSmallRequests / 2, times + kSmallRequests);
    return times[kSmallRequests / 2];
}

// Entries of a table that is read from its start, with keys in no order.
static void make_unsorted(kary::SortEntry<uint64> *entries, uint64 count) {
    constexpr uint64 kEntriesOnAPage = 200;
    for (uint64 i = 0; i < count; i++)
        entries[i] = {hash_bytes_uint32_extended(static_cast<uint32>(i), 0),
                      static_cast<uint32>(i / kEntriesOnAPage), static_cast<uint16>(i % kEntriesOnAPage + 1),
                      0};
}

// Sorts on the path that is chosen or, without `on_server`, in the session.
static double time_sort(uint64 count, bool on_server) {
    auto *entries = allocate<kary::SortEntry<uint64>>(count);
    make_unsorted(entries, count);
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    bool sorted = true;
    if (on_server) {
        sorted = kary::sort_on_server(entries, count);
    } else {
        auto *scratch = allocate<kary::SortEntry<uint64>>(count);
        kary::radix_sort(entries, scratch, count, [] { CHECK_FOR_INTERRUPTS(); });
        pfree(scratch);
    }
    const double microseconds = microseconds_since(start);
    pfree(entries);
    return sorted ? microseconds : -1;
}

// Returns the share of each of `count` things in the time that is left when `paid` is taken off.
static double rest_for_each(double microseconds, double paid, double count) {
    return Max(microseconds - paid, 0.0) / count;
}

bool measure_engine(const CalibrationIndex &calibration, client::Path path, CostSettings *costs) {
    const int p = static_cast<int>(path);
    if (!client::is_available(path))
        return false;
    choose(path);
    const client::Choice choice = {path, 0};
    Sample sample = {read_set(calibration.index), choice, nullptr, nullptr, 0, 0};
    sample.pages = RelationGetNumberOfBlocks(calibration.index);
    const double load = shortest_time([&] { return time_load(sample); });
    const double range = shortest_time([&] { return time_range(&sample); });
    const double transfer = shortest_time([&] { return time_transfer(sample); });
    const double sort = shortest_time([&] { return time_sort(sample.count, true); });
    if (load < 0 || range < 0 || transfer < 0 || sort < 0)
        return false;
    const auto entries = static_cast<double>(sample.count);
    const double mebibytes = entries * kEntryBytes / kMebibyte;
    costs->load = load / (static_cast<double>(sample.pages) * BLCKSZ / kMebibyte);
    costs->transfer = transfer / mebibytes;
    costs->sort[p] = rest_for_each(sort, 2 * mebibytes * costs->transfer, entries);

    costs->request[p] = median_request(sample);
    const uint64 wanted = Min(kKeysOfABatch, sample.count);
    auto *keys = allocate<uint64>(wanted);
    for (uint64 i = 0; i < wanted; i++)
        keys[i] = sample.keys[i * (sample.count / wanted)];
    const double lookup = shortest_time([&] { return time_lookup(sample, keys, wanted); });
    pfree(keys);
    if (costs->request[p] < 0 || lookup < 0)
        return false;
    const auto batch = static_cast<double>(wanted);
    const double lookup_bytes = batch * (2 * sizeof(uint64) + sizeof(ItemPointerData));
    costs->key[p] =
        rest_for_each(lookup, costs->request[p] + lookup_bytes / kMebibyte * costs->transfer, batch);
    costs->entry[p] = rest_for_each(range, costs->request[p], entries);
    client::evict_index(calibration.index);
    pfree(sample.keys);
    pfree(sample.tids);
    return true;
}

// ---- the paged path ---------------------------------------------------------------------------------------

namespace {

// Measures the same work on either path.
struct Work {
    const CalibrationIndex *sample;
    double (*time)(const Work &work);
};

}  // namespace

static bool read_key(void *context, uint32 i, Datum *values, Oid *types) {
    values[0] = Int64GetDatum(static_cast<const int64 *>(context)[i]);
    types[0] = INT8OID;
    return true;
}

static double time_keys(const Work &work) {
    const CalibrationIndex &sample = *work.sample;
    const auto count = static_cast<uint32>(Min(kKeysOfABatch, sample.rows));
    auto *keys = allocate<int64>(count);
    for (uint32 i = 0; i < count; i++)
        keys[i] = sample.key(i * (sample.rows / count));
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    const kary::LookupResult result =
        kary::look_up(sample.heap, sample.index, GetActiveSnapshot(), {count, read_key, keys});
    const double microseconds = microseconds_since(start);
    pfree(result.matches);
    pfree(result.first_position);
    pfree(result.positions);
    pfree(keys);
    return microseconds;
}

static double time_scan(const Work &work) {
    instr_time start;
    INSTR_TIME_SET_CURRENT(start);
    if (SPI_execute(
            psprintf("SELECT count(*) FROM %s WHERE k >= 0", RelationGetRelationName(work.sample->heap)),
            false, 0) != SPI_OK_SELECT)
        ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("gpu.calibrate could not measure"),
                        errdetail("A scan of its table failed.")));
    return microseconds_since(start);
}

// Returns how many microseconds longer the work takes on pages than on the engine. Both are measured by
// turns, so that they meet the same disturbances; the first time of each warms up.
static double extra_on_pages(const Work &work, client::Path engine) {
    double paged = 0;
    double on_engine = 0;
    for (int i = 0; i <= kRepetitions; i++) {
        CHECK_FOR_INTERRUPTS();
        choose(client::Path::Paged);
        const double one = work.time(work);
        choose(engine);
        const double other = work.time(work);
        paged = i <= 1 ? one : Min(paged, one);
        on_engine = i <= 1 ? other : Min(on_engine, other);
    }
    return paged - on_engine;
}

void measure_paged(const CalibrationIndex &sample, client::Path engine, CostSettings *costs) {
    const int p = static_cast<int>(engine);
    const auto rows = static_cast<double>(sample.rows);
    const double keys = Min(static_cast<double>(kKeysOfABatch), rows);
    // On the engine they cost what the model says; the rest is the same on both paths.
    const double lookup_bytes = keys * (2 * sizeof(uint64) + sizeof(ItemPointerData));
    const double keys_on_engine =
        costs->request[p] + keys * costs->key[p] + lookup_bytes / kMebibyte * costs->transfer;
    const double scan_on_engine = costs->request[p] + rows * costs->entry[p];
    const double keys_on_pages = keys_on_engine + extra_on_pages({&sample, time_keys}, engine);
    const double scan_on_pages = scan_on_engine + extra_on_pages({&sample, time_scan}, engine);
    costs->key[0] = Max(keys_on_pages, 0.0) / keys;
    costs->entry[0] = Max(scan_on_pages, 0.0) / rows;
    costs->sort[0] = shortest_time([&] { return time_sort(sample.rows, false); }) / rows;
}

}  // namespace pg_gpu::functions
