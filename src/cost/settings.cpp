// pg_gpu.costs: the cost model's constants, as a list in one setting.
#include "compat.h"
#include "settings.h"

#include <cstddef>
#include <cstdlib>

namespace pg_gpu {

// Defaults are of two cores and an H100; gpu.calibrate() measures this machine's.
static constexpr CostConstant kConstants[] = {
    {"paged_key", "us per key", "looking a key up in a run, on pages", 0.055, offsetof(CostSettings, key[0]),
     0, false},
    {"paged_entry", "us per entry", "reading an entry, on pages", 0.003, offsetof(CostSettings, entry[0]), 0,
     false},
    {"paged_sort", "us per entry", "sorting or merging an entry in the session", 0.03,
     offsetof(CostSettings, sort[0]), 0, false},
    {"paged_ranking", "us per ranking", "a ranking beside its lists, on pages", 0,
     offsetof(CostSettings, lists[0][kRanking]), 0, true},
    {"paged_list", "us per list", "an inverted list in a run, on pages", 3.9,
     offsetof(CostSettings, lists[0][kList]), 0, true},
    {"paged_window", "us per window", "a window of documents in a list of an OR, on pages", 0.2,
     offsetof(CostSettings, lists[0][kWindows]), 0, true},
    {"paged_posting", "us per posting", "a posting in a list of an OR, on pages", 0.0039,
     offsetof(CostSettings, lists[0][kPostings]), 0, true},
    {"paged_shortest", "us per posting", "a posting in the shortest list of an AND, on pages", 0.024,
     offsetof(CostSettings, lists[0][kShortest]), 0, true},
    {"paged_second", "us per posting", "a posting in the second shortest list of an AND, on pages", 0.0015,
     offsetof(CostSettings, lists[0][kSecond]), 0, true},
    {"host_request", "us per request", "a request to the host engine", 60, offsetof(CostSettings, request[1]),
     1, false},
    {"host_key", "us per key", "looking a key up in a run, on the host engine", 0.02,
     offsetof(CostSettings, key[1]), 1, false},
    {"host_entry", "us per entry", "reading an entry, on the host engine", 0.002,
     offsetof(CostSettings, entry[1]), 1, false},
    {"host_sort", "us per entry", "sorting or merging an entry, on the host engine", 0.12,
     offsetof(CostSettings, sort[1]), 1, false},
    {"host_ranking", "us per ranking", "a ranking beside its lists, on the host engine", 0,
     offsetof(CostSettings, lists[1][kRanking]), 1, true},
    {"host_list", "us per list", "an inverted list in a run, on the host engine", 8,
     offsetof(CostSettings, lists[1][kList]), 1, true},
    {"host_window", "us per window", "a window of documents in a list of an OR, on the host engine", 0.1,
     offsetof(CostSettings, lists[1][kWindows]), 1, true},
    {"host_posting", "us per posting", "a posting in a list of an OR, on the host engine", 0.0034,
     offsetof(CostSettings, lists[1][kPostings]), 1, true},
    {"host_shortest", "us per posting", "a posting in the shortest list of an AND, on the host engine", 0.013,
     offsetof(CostSettings, lists[1][kShortest]), 1, true},
    {"host_second", "us per posting", "a posting in the second shortest list of an AND, on the host engine",
     0.001, offsetof(CostSettings, lists[1][kSecond]), 1, true},
    {"cuda_request", "us per request", "a request to the cuda engine", 80, offsetof(CostSettings, request[2]),
     2, false},
    {"cuda_key", "us per key", "looking a key up in a run, on the cuda engine", 0.0005,
     offsetof(CostSettings, key[2]), 2, false},
    {"cuda_entry", "us per entry", "reading an entry, on the cuda engine", 0.0001,
     offsetof(CostSettings, entry[2]), 2, false},
    {"cuda_sort", "us per entry", "sorting or merging an entry, on the cuda engine", 0.13,
     offsetof(CostSettings, sort[2]), 2, false},
    {"cuda_ranking", "us per ranking", "a ranking beside its lists, on the cuda engine", 70,
     offsetof(CostSettings, lists[2][kRanking]), 2, true},
    {"cuda_list", "us per list", "an inverted list in a run, on the cuda engine", 1,
     offsetof(CostSettings, lists[2][kList]), 2, true},
    {"cuda_window", "us per window", "a window of documents in a list of an OR, on the cuda engine", 0,
     offsetof(CostSettings, lists[2][kWindows]), 2, true},
    {"cuda_posting", "us per posting", "a posting in a list of an OR, on the cuda engine", 0.00002,
     offsetof(CostSettings, lists[2][kPostings]), 2, true},
    {"cuda_shortest", "us per posting", "a posting in the shortest list of an AND, on the cuda engine",
     0.0001, offsetof(CostSettings, lists[2][kShortest]), 2, true},
    {"cuda_second", "us per posting", "a posting in the second shortest list of an AND, on the cuda engine",
     0.00001, offsetof(CostSettings, lists[2][kSecond]), 2, true},
    {"transfer", "us per MiB", "handing a MiB over between session and server process", 150,
     offsetof(CostSettings, transfer), -1, false},
    {"load", "us per MiB", "making a mirror of a MiB of index pages", 600, offsetof(CostSettings, load), -1,
     false},
};

static char *costs_text = nullptr;
static CostSettings costs = {};
static bool costs_by_user = false;

const CostSettings &cost_settings() {
    return costs;
}

bool costs_are_users() {
    return costs_by_user;
}

std::span<const CostConstant> cost_constants() {
    return kConstants;
}

double cost_of(const CostSettings &settings, const CostConstant &constant) {
    double value;
    memcpy(&value, reinterpret_cast<const char *>(&settings) + constant.offset, sizeof(value));
    return value;
}

static void set_cost(CostSettings *settings, const CostConstant &constant, double value) {
    memcpy(reinterpret_cast<char *>(settings) + constant.offset, &value, sizeof(value));
}

static const char *skip_space(const char *at) {
    while (isspace(static_cast<unsigned char>(*at)))
        at++;
    return at;
}

static const CostConstant *find_constant(const char *name, int length) {
    for (const CostConstant &constant : kConstants)
        if (strlen(constant.name) == static_cast<size_t>(length) &&
            pg_strncasecmp(constant.name, name, length) == 0)
            return &constant;
    return nullptr;
}

static bool refuse_syntax(int entry) {
    GUC_check_errdetail("Entry %d of the list does not have the form \"name = value\".", entry);
    GUC_check_errhint("An example of a list is \"host_request = 40, cuda_key = 0.001\".");
    return false;
}

// Reads one entry, and moves *at behind it. False with the reason told.
static bool parse_entry(const char **at, int entry, const CostConstant **constant, double *value) {
    constexpr double kMaxCost = 1e9;
    const char *name = skip_space(*at);
    const char *end = name;
    while (isalnum(static_cast<unsigned char>(*end)) || *end == '_')
        end++;
    const int length = static_cast<int>(end - name);
    const char *equals = skip_space(end);
    if (length == 0 || *equals != '=')
        return refuse_syntax(entry);
    *constant = find_constant(name, length);
    if (*constant == nullptr) {
        GUC_check_errdetail("There is no cost \"%.*s\".", length, name);
        GUC_check_errhint("The view gpu.costs lists all costs.");
        return false;
    }
    const char *number = skip_space(equals + 1);
    char *behind;
    *value = strtod(number, &behind);
    *at = skip_space(behind);
    if (behind == number || (**at != ',' && **at != '\0') || !(*value >= 0 && *value <= kMaxCost)) {
        GUC_check_errdetail("The value of cost \"%s\" is not a number from 0 to %.0f.", (*constant)->name,
                            kMaxCost);
        return false;
    }
    return true;
}

// Parses the list; a constant that it doesn't name gets its default.
static bool parse_costs(const char *text, CostSettings *parsed) {
    for (const CostConstant &constant : kConstants)
        set_cost(parsed, constant, constant.default_value);
    const char *at = skip_space(text);
    if (*at == '\0')
        return true;
    bool seen[lengthof(kConstants)] = {};
    for (int entry = 1;; entry++) {
        const CostConstant *constant;
        double value;
        if (!parse_entry(&at, entry, &constant, &value))
            return false;
        if (seen[constant - kConstants]) {
            GUC_check_errdetail("Cost \"%s\" is in the list more than once.", constant->name);
            return false;
        }
        seen[constant - kConstants] = true;
        set_cost(parsed, *constant, value);
        if (*at == '\0')
            return true;
        at++;
    }
}

namespace {

struct ParsedCosts {
    CostSettings costs;
    bool by_user;
};

}  // namespace

static bool check_costs(char **text, void **extra, GucSource source) {
    ParsedCosts parsed = {};
    if (!parse_costs(*text, &parsed.costs))
        return false;
    // A value counts as the user's when neither the configuration nor a setting for everybody gave it.
    parsed.by_user = source > PGC_S_GLOBAL;
    *extra = allocate_setting(sizeof(parsed));
    if (*extra == nullptr)
        return false;
    memcpy(*extra, &parsed, sizeof(parsed));
    return true;
}

static void assign_costs(const char *, void *extra) {
    const auto *parsed = static_cast<const ParsedCosts *>(extra);
    costs = parsed->costs;
    costs_by_user = parsed->by_user;
}

void define_cost_settings() {
    DefineCustomStringVariable(
        "pg_gpu.costs", "Constants of the cost model, as a list of name = value.",
        "The view gpu.costs lists them; those left out have their defaults. gpu.calibrate() measures them.",
        &costs_text, "", PGC_USERSET, GUC_EXPLAIN, check_costs, assign_costs, nullptr);
}

}  // namespace pg_gpu
