// Queries of typed columns.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "server/requests/column_tests.h"
#include "server/requests/results.h"
#include "server/requests/run_set.h"
#include "server/requests/space_members.h"
#include "server/requests/spread.h"

#include "gpu_engine/query/parts.h"

namespace gpu_engine::server {
namespace {

// A query that came in the transfer buffer. What says where other things lie is read once, since the session
// may write to the buffer meanwhile; values stay there.
class ReceivedQuery {
  public:
    // With the runs that are here, and with its inputs if `has_inputs`.
    ReceivedQuery(Work &work, const protocol::RunQuery &request, const RunSet &runs, bool has_inputs)
        : buffer_(work.connection.buffer),
          memory_(work.server().engines().host().memory()),
          nodes_(copy<query::Node>(request.nodes)),
          types_(copy<query::ValueType>(request.types)),
          steps_(copy<query::Step>(request.steps)),
          constants_(copy<query::Constant>(request.constants)),
          outputs_(copy<std::uint16_t>(request.outputs)),
          accumulators_(copy<query::Accumulator>(request.accumulators)),
          sort_keys_(copy<query::SortKey>(request.sort_keys)),
          tables_(copy<protocol::BlocksPlace>(request.tables)) {
        if (tables_.size() > protocol::max_query_tables) {
            refuse("the query has too many tables");
        }
        read_zones(request);
        read_spaces(work, request, runs);
        read_sources(request, runs, has_inputs);
    }

    // What the request knows of each table's blocks.
    const std::vector<protocol::BlocksPlace> &tables() const noexcept { return tables_; }
    // Of each table: nullptr, where all of its rows are visible. They are the caller's.
    query::Query query(const std::vector<const HeapBlocks *> &blocks, std::uint64_t max_rows) const {
        query::Query query = {};
        query.nodes = nodes_.data();
        query.types = types_.data();
        query.steps = steps_.data();
        query.constants = constants_.data();
        query.outputs = outputs_.data();
        query.accumulators = accumulators_.data();
        query.sort_keys = sort_keys_.data();
        query.zones = zones_.data();
        query.runs = runs_.data();
        query.inputs = inputs_.data();
        query.node_count = count(nodes_);
        query.type_count = count(types_);
        query.step_count = count(steps_);
        query.constant_count = count(constants_);
        query.output_count = count(outputs_);
        query.accumulator_count = count(accumulators_);
        query.sort_key_count = count(sort_keys_);
        query.zone_count = count(zones_);
        query.run_count = count(runs_);
        query.input_count = count(inputs_);
        query.blocks = blocks.data();
        query.block_count = count(blocks);
        query.max_rows = max_rows;
        return query;
    }

    // Finds the maps that have names among those that the work's engine keeps, and has it keep the others.
    // False: one isn't kept that came without values.
    bool find_maps(Work &work, const RunSet &runs) {
        for (const NamedMap &named : named_maps_) {
            query::RunColumn &column = run_columns_[named.source][named.column];
            KeptMaps &maps = work.server().mirrors().maps();
            const KeptMaps::Key key = {work.id, runs.mirror(named.run)->name, column.name};
            std::shared_ptr<const query::KeptMap> kept = maps.find(key);
            if (kept == nullptr) {
                column.values = named.make ? named.make() : column.values;
                if (column.values == nullptr && column.places > 0) {
                    return false;
                }
                kept = keep_map(work, key, {column.places, named.words, column.values, column.nulls});
                if (kept != nullptr && named.make) {
                    maps_.pop_back();
                    column.values = nullptr;
                }
            }
            column.kept = kept.get();
            kept_maps_.push_back(std::move(kept));
        }
        return true;
    }

  private:
    struct NamedMap {
        std::size_t source;  // its column is run_columns_[source][column]
        std::size_t column;
        std::uint32_t run;
        std::uint32_t words;
        std::function<const std::uint64_t *()> make;  // empty: its values came with the request, if at all
    };

    // Returns nullptr where there is no room, and never has a mirror leave.
    static std::shared_ptr<const query::KeptMap> keep_map(Work &work, const KeptMaps::Key &key,
                                                          const query::MapValues &values) {
        KeptMaps &maps = work.server().mirrors().maps();
        std::shared_ptr<const query::KeptMap> kept;
        Status status = work.engine->queries().keep_map(*work.stream, values, &kept);
        if (status.code == StatusCode::out_of_memory &&
            maps.drop(work.id, values.places * values.words * sizeof(std::uint64_t))) {
            status = work.engine->queries().keep_map(*work.stream, values, &kept);
        }
        if (status.code == StatusCode::out_of_memory) {
            return nullptr;
        }
        check(status);
        return maps.add(key, std::move(kept));
    }

    template <typename Element>
    static std::uint32_t count(const std::vector<Element> &elements) {
        return static_cast<std::uint32_t>(elements.size());
    }

    // Many arrays may lie in the same place, so the buffer's size doesn't limit how much they are together.
    void note_taken(std::uint64_t elements) {
        if (elements > protocol::max_elements - taken_) {
            refuse("the query's arrays are too long");
        }
        taken_ += elements;
    }

    template <typename Element>
    std::vector<Element> copy(std::uint64_t offset, std::uint64_t count) {
        note_taken(count);
        const Element *elements = buffer_.part<Element>(offset, count);
        std::vector<Element> copied(count);
        if (count > 0) {
            std::memcpy(copied.data(), elements, count * sizeof(Element));
        }
        return copied;
    }
    template <typename Element>
    std::vector<Element> copy(const protocol::ArrayPlace &place) {
        return copy<Element>(place.offset, place.count);
    }

    void read_zones(const protocol::RunQuery &request) {
        for (const protocol::ZonePlace &place : copy<protocol::ZonePlace>(request.zones)) {
            transitions_.push_back(copy<query::ZoneTransition>(place.transitions, place.count));
            zones_.push_back({transitions_.back().data(), place.count});
        }
    }

    void read_spaces(Work &work, const protocol::RunQuery &request, const RunSet &runs) {
        for (const protocol::SpacePlace &place : copy<protocol::SpacePlace>(request.spaces)) {
            note_taken(place.members.count);
            spaces_.push_back({read_members(buffer_, place.members, runs), nullptr});
            // Not every numbering of a statement is a space.
            if (place.members.count > 0) {
                spaces_.back().space = space_of(work, spaces_.back().listed);
            }
        }
    }

    // How many columns a source has, and of how many words, its scan says.
    void read_sources(const protocol::RunQuery &request, const RunSet &runs, bool has_inputs) {
        const auto sources = copy<protocol::RunSourcePlace>(request.sources);
        const auto inputs = copy<protocol::InputSourcePlace>(request.inputs);
        Tests tests(buffer_, request.tests, request.test_count);
        for (query::Node &node : nodes_) {
            if (node.kind != query::NodeKind::scan) {
                continue;
            }
            const std::vector<query::ValueType> types = types_of(node);
            const query::Span its_runs = node.runs;
            const query::Span its_inputs = node.inputs;
            node.runs = {count(runs_), 0};
            node.inputs = {count(inputs_), 0};
            for_span(its_runs, sources.size(), [&](std::uint32_t i) {
                if (sources[i].run >= runs.size()) {
                    refuse("a source is none of the request's runs");
                }
                if (!runs.is_here(sources[i].run)) {
                    return;
                }
                tests_.push_back(tests.of_run(i));
                note_taken(1 + tests_.back().size());
                run_columns_.push_back(run_columns(sources[i], types));
                runs_.push_back({&runs.column(sources[i].run), tests_.back().data(), count(tests_.back()),
                                 sources[i].table, run_columns_.back().data()});
                ++node.runs.count;
            });
            for_span(its_inputs, inputs.size(), [&](std::uint32_t i) {
                if (!has_inputs) {
                    return;
                }
                note_taken(1);
                input_columns_.push_back(input_columns(inputs[i], types));
                inputs_.push_back({inputs[i].rows, input_columns_.back().data()});
                ++node.inputs.count;
            });
        }
    }

    template <typename Visit>
    static void for_span(const query::Span &span, std::size_t size, Visit visit) {
        if (span.first > size || span.count > size - span.first) {
            refuse("a part of the query lies outside of it");
        }
        for (std::uint32_t i = 0; i < span.count; ++i) {
            visit(span.first + i);
        }
    }
    std::vector<query::ValueType> types_of(const query::Node &scan) const {
        std::vector<query::ValueType> types;
        for_span(scan.types, types_.size(), [&](std::uint32_t i) { types.push_back(types_[i]); });
        return types;
    }

    const std::uint64_t *values_at(std::uint64_t offset, query::ValueType type, std::uint64_t places) const {
        if (places > UINT32_MAX) {
            refuse("a column of the query has too many values");
        }
        return buffer_.part<std::uint64_t>(offset, places * query::words_of(type));
    }
    const std::uint64_t *nulls_at(std::uint64_t offset, std::uint64_t places) const {
        return offset == protocol::nowhere ? nullptr
                                           : buffer_.part<std::uint64_t>(offset, (places + 63) / 64);
    }

    // Finds the map of a member's numbers in a code space.
    void take_numbers(const protocol::RunColumnPlace &place, std::uint32_t run, query::ValueType type,
                      query::RunColumn *column, NamedMap *named) {
        constexpr std::uint32_t max_shift_bits = 6;
        constexpr std::uint32_t max_shift = (1 << max_shift_bits) - 1;
        if (place.space > spaces_.size() || type != query::ValueType::int64 || place.power > max_shift) {
            refuse("a column has no numbers of a code space");
        }
        const Space &space = spaces_[place.space - 1];
        if (space.space == nullptr) {
            refuse("a code space has no members");
        }
        const auto &places = space.listed.places;
        const auto found = std::find_if(places.begin(), places.end(), [&](const auto &member) {
            return member.run == run && member.column == place.column;
        });
        if (found == places.end()) {
            refuse("a column is no member of its code space");
        }
        const auto member = static_cast<std::size_t>(found - places.begin());
        const std::uint32_t *numbers = space.space->numbers(member);
        column->power = 0;
        column->offset = 0;
        if (numbers == nullptr && place.power == 0 && place.offset == 0) {
            column->form = query::ColumnForm::code;
            return;
        }
        const SpaceMember &dictionary = space.listed.members[member];
        column->places = dictionary.run->layout().column[dictionary.column].distinct;
        // Sessions' names are hashes, which hardly ever are so small.
        static_assert(CodeSpace::max_members <= UINT16_MAX);
        column->name = {{space.space->serial() << 16 | member, place.offset << max_shift_bits | place.power}};
        named->make = [this, numbers, places = column->places, power = place.power, offset = place.offset] {
            maps_.push_back(std::make_unique<Scratch<std::uint64_t>>(memory_, places));
            std::uint64_t *values = maps_.back()->data();
            for (std::uint64_t code = 0; code < places; ++code) {
                values[code] = ((numbers == nullptr ? code : numbers[code]) << power) + offset;
            }
            return static_cast<const std::uint64_t *>(values);
        };
    }

    std::vector<query::RunColumn> run_columns(const protocol::RunSourcePlace &source,
                                              const std::vector<query::ValueType> &types) {
        std::vector<query::RunColumn> columns;
        for (const auto &place : copy<protocol::RunColumnPlace>(source.columns, types.size())) {
            query::RunColumn column = {};
            column.form = static_cast<query::ColumnForm>(place.form);
            column.column = place.column;
            column.offset = place.offset;
            column.power = place.power;
            const query::ValueType type = types[columns.size()];
            NamedMap named = {run_columns_.size(), columns.size(), source.run, query::words_of(type), {}};
            if (column.form == query::ColumnForm::map && place.space != 0) {
                take_numbers(place, source.run, type, &column, &named);
            } else if (column.form == query::ColumnForm::map) {
                column.places = place.places;
                column.name = place.name;
                if (place.values != protocol::nowhere) {
                    column.values = values_at(place.values, type, place.places);
                    column.nulls = nulls_at(place.nulls, place.places);
                } else if (!column.name.is_given()) {
                    refuse("a map has neither values nor a name");
                }
            }
            if (column.form == query::ColumnForm::map && column.name.is_given()) {
                named_maps_.push_back(std::move(named));
            }
            columns.push_back(column);
        }
        return columns;
    }
    std::vector<query::InputColumn> input_columns(const protocol::InputSourcePlace &input,
                                                  const std::vector<query::ValueType> &types) {
        std::vector<query::InputColumn> columns;
        for (const auto &place : copy<protocol::InputColumnPlace>(input.columns, types.size())) {
            columns.push_back({values_at(place.values, types[columns.size()], input.rows),
                               nulls_at(place.nulls, input.rows)});
        }
        return columns;
    }

    struct Space {
        ListedMembers listed;
        std::shared_ptr<const CodeSpace> space;
    };

    const TransferBuffer &buffer_;
    MemoryBudget &memory_;
    std::uint64_t taken_ = 0;
    std::vector<query::Node> nodes_;
    std::vector<query::ValueType> types_;
    std::vector<query::Step> steps_;
    std::vector<query::Constant> constants_;
    std::vector<std::uint16_t> outputs_;
    std::vector<query::Accumulator> accumulators_;
    std::vector<query::SortKey> sort_keys_;
    std::vector<protocol::BlocksPlace> tables_;
    // What the others point to stays where it is when these grow.
    std::vector<std::vector<query::ZoneTransition>> transitions_;
    std::vector<std::vector<ColumnTest>> tests_;
    std::vector<std::vector<query::RunColumn>> run_columns_;
    std::vector<std::vector<query::InputColumn>> input_columns_;
    std::vector<Space> spaces_;
    std::vector<std::unique_ptr<Scratch<std::uint64_t>>> maps_;
    std::vector<NamedMap> named_maps_;
    std::vector<std::shared_ptr<const query::KeptMap>> kept_maps_;
    std::vector<query::Zone> zones_;
    std::vector<query::RunSource> runs_;
    std::vector<query::InputSource> inputs_;
};

// Copies what comes next to the buffer, and keeps the answer for the next request if there is more.
void give_rows(Work &work, KeptRows kept, Results &results, protocol::QueryReply &reply) {
    const query::QueryResult &result = *kept.result;
    const bool are_tids = result.outcome() == query::QueryOutcome::unresolved;
    reply.outcome = static_cast<std::uint32_t>(result.outcome());
    reply.rows = result.rows();
    reply.unresolved = result.unresolved();
    reply.unresolved_table = result.unresolved_table();
    reply.record_words = result.record_words();
    const std::uint64_t left = (are_tids ? reply.unresolved : reply.rows) - kept.given;
    if (are_tids) {
        reply.here = std::min(left, results.room<Tid>());
        check(result.read_unresolved(*work.stream, kept.given, reply.here,
                                     results.take<Tid>(reply.here, &reply.here_at)));
    } else {
        // Without columns a record has no words.
        const std::uint64_t words = std::max<std::uint64_t>(reply.record_words, 1);
        reply.here = std::min(left, results.room<std::uint64_t>() / words);
        check(result.read_rows(*work.stream, kept.given, reply.here,
                               results.take<std::uint64_t>(reply.here * words, &reply.here_at)));
    }
    kept.given += reply.here;
    reply.needed = results.used();
    work.bytes = results.used();
    if (reply.here < left) {
        work.connection.keep(std::move(kept));
    }
}

KeptRows begin_kept(const Work &work) {
    KeptRows kept;
    kept.engine = work.engine_name;
    kept.held_by = work.id;
    return kept;
}

// Runs a query, or the part of it that `part_of` makes of it, over the runs that are here.
template <typename PartOf>
std::unique_ptr<query::QueryResult> run_here(Work &work, const ReceivedQuery &received, const RunSet &runs,
                                             std::uint64_t max_rows, PartOf part_of) {
    std::vector<std::unique_ptr<HeapBlocks>> kept;
    std::vector<const HeapBlocks *> blocks;
    for (const protocol::BlocksPlace &table : received.tables()) {
        kept.push_back(table.all_visible != 0 ? nullptr : keep_blocks(work, table));
        blocks.push_back(kept.back().get());
    }
    const query::Query query = part_of(received.query(blocks, max_rows));
    for (std::size_t run = 0; run < runs.size(); ++run) {
        work.items += runs.is_here(run) ? runs.entries(run) : 0;
    }
    std::unique_ptr<query::QueryResult> result;
    check(with_room(work, [&] { return work.engine->queries().run(*work.stream, query, &result); }));
    return result;
}

// ---- parts ------------------------------------------------------------------------------------------------

// What one of several engines has found, in the machine's memory: rows by column, as an input has them, or
// the TIDs of unresolved rows.
class PartRows {
  public:
    void read(MemoryBudget &memory, Stream &stream, const query::QueryResult &result,
              const std::vector<query::ValueType> &types) {
        outcome_ = result.outcome();
        if (outcome_ == query::QueryOutcome::unresolved) {
            unresolved_.emplace(memory, result.unresolved());
            unresolved_count_ = result.unresolved();
            unresolved_table_ = result.unresolved_table();
            check(result.read_unresolved(stream, 0, unresolved_count_, unresolved_->data()));
        } else if (outcome_ == query::QueryOutcome::answered) {
            read_columns(memory, stream, result, types);
        }
    }
    query::QueryOutcome outcome() const noexcept { return outcome_; }
    query::InputSource input() const noexcept { return {rows_, columns_.data()}; }
    std::uint64_t unresolved() const noexcept { return unresolved_count_; }
    std::uint32_t unresolved_table() const noexcept { return unresolved_table_; }
    const Tid *tids() const noexcept { return unresolved_->data(); }

  private:
    void read_columns(MemoryBudget &memory, Stream &stream, const query::QueryResult &result,
                      const std::vector<query::ValueType> &types) {
        constexpr std::uint64_t rows_at_once = 1 << 14;
        const std::uint32_t null_words = query::null_words(static_cast<std::uint32_t>(types.size()));
        std::uint64_t words = null_words;
        rows_ = result.rows();
        for (const query::ValueType type : types) {
            words += query::words_of(type);
            values_.push_back(std::make_unique<Words>(memory, rows_ * query::words_of(type)));
            nulls_.push_back(std::make_unique<Words>(memory, (rows_ + 63) / 64));
            std::fill_n(nulls_.back()->data(), (rows_ + 63) / 64, 0);
            columns_.push_back({values_.back()->data(), nulls_.back()->data()});
        }
        // The session may have changed the query since the part before read it.
        if (result.record_words() != words) {
            refuse("the query was changed during the request");
        }
        const Words records(memory, std::min(rows_, rows_at_once) * words);
        for (std::uint64_t first = 0; first < rows_; first += rows_at_once) {
            const std::uint64_t count = std::min(rows_ - first, rows_at_once);
            check(result.read_rows(stream, first, count, records.data()));
            std::uint64_t word = null_words;
            for (std::size_t i = 0; i < types.size(); word += query::words_of(types[i]), ++i) {
                take_column(records.data(), words, word, first, count, i, query::words_of(types[i]));
            }
        }
    }
    void take_column(const std::uint64_t *records, std::uint64_t record_words, std::uint64_t word,
                     std::uint64_t first, std::uint64_t count, std::size_t column,
                     std::uint32_t value_words) {
        std::uint64_t *values = values_[column]->data() + first * value_words;
        std::uint64_t *nulls = nulls_[column]->data();
        for (std::uint64_t row = 0; row < count; ++row, records += record_words) {
            std::copy_n(records + word, value_words, values + row * value_words);
            nulls[(first + row) / 64] |= (records[column / 64] >> (column % 64) & 1) << ((first + row) % 64);
        }
    }

    using Words = Scratch<std::uint64_t>;
    query::QueryOutcome outcome_{};
    std::uint64_t rows_ = 0;
    std::vector<std::unique_ptr<Words>> values_;
    std::vector<std::unique_ptr<Words>> nulls_;
    std::vector<query::InputColumn> columns_;
    std::uint64_t unresolved_count_ = 0;
    std::uint32_t unresolved_table_ = 0;
    std::optional<Scratch<Tid>> unresolved_;
};

// The result where parts have none: that they failed, or the TIDs of the rows that they can't tell of.
class NoResult : public query::QueryResult {
  public:
    NoResult(MemoryBudget &memory, query::QueryOutcome outcome, const std::vector<PartRows> &parts)
        : outcome_(outcome), table_(first_table(parts)), count_(count(parts, table_)), tids_(memory, count_) {
        Tid *end = tids_.data();
        for (const PartRows &part : parts) {
            if (is_of_table(part, table_)) {
                end = std::copy_n(part.tids(), part.unresolved(), end);
            }
        }
    }

    query::QueryOutcome outcome() const noexcept override { return outcome_; }
    std::uint64_t rows() const noexcept override { return 0; }
    std::uint32_t record_words() const noexcept override { return 0; }
    std::uint64_t unresolved() const noexcept override { return count_; }
    std::uint32_t unresolved_table() const noexcept override { return table_; }
    Status read_rows(Stream &, std::uint64_t, std::uint64_t, std::uint64_t *) const noexcept override {
        return Status{};
    }
    Status read_unresolved(Stream &, std::uint64_t first, std::uint64_t count,
                           Tid *tids) const noexcept override {
        std::copy_n(tids_.data() + first, count, tids);
        return Status{};
    }

  private:
    // Each part names all of its rows of the first table that has any there. So only of the first one of all
    // parts it is known that no part has others: the caller is going to take blocks for known that have them.
    static bool is_of_table(const PartRows &part, std::uint32_t table) {
        return part.unresolved() > 0 && part.unresolved_table() == table;
    }
    static std::uint32_t first_table(const std::vector<PartRows> &parts) {
        std::uint32_t first = query::no_table;
        for (const PartRows &part : parts) {
            if (part.unresolved() > 0) {
                first = std::min(first, part.unresolved_table());
            }
        }
        return first;
    }
    static std::uint64_t count(const std::vector<PartRows> &parts, std::uint32_t table) {
        std::uint64_t count = 0;
        for (const PartRows &part : parts) {
            count += is_of_table(part, table) ? part.unresolved() : 0;
        }
        return count;
    }

    const query::QueryOutcome outcome_;
    const std::uint32_t table_;
    const std::uint64_t count_;
    const Scratch<Tid> tids_;
};

// The host engine runs what is left to be done.
std::unique_ptr<query::QueryResult> merge_parts(Work &work, query::QueryParts &query,
                                                const std::vector<PartRows> &parts) {
    Engine &host = work.server().engines().host();
    for (const query::QueryOutcome outcome :
         {query::QueryOutcome::unresolved, query::QueryOutcome::failed, query::QueryOutcome::too_many_rows}) {
        if (std::any_of(parts.begin(), parts.end(),
                        [outcome](const PartRows &part) { return part.outcome() == outcome; })) {
            return std::make_unique<NoResult>(host.memory(), outcome, parts);
        }
    }
    std::vector<query::InputSource> inputs;
    for (const PartRows &part : parts) {
        inputs.push_back(part.input());
    }
    std::unique_ptr<query::QueryResult> result;
    check(host.queries().run(*work.stream, query.merging(inputs), &result));
    return result;
}

}  // namespace

void result_run_query(Work &work, const protocol::RunQuery &request, protocol::QueryReply &reply) {
    const RunSet runs(work, request.run, request.runs, column_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    ReceivedQuery received(work, request, runs, true);
    if (!received.find_maps(work, runs)) {
        reply.outcome = static_cast<std::uint32_t>(query::QueryOutcome::lacks_maps);
        return;
    }
    KeptRows kept = begin_kept(work);
    kept.result =
        run_here(work, received, runs, request.max_rows, [](const query::Query &query) { return query; });
    Results results(work.connection.buffer, request.results, request.capacity);
    give_rows(work, std::move(kept), results, reply);
}

void spread_run_query(Spread &spread, const protocol::RunQuery &request, protocol::QueryReply &reply) {
    Work &whole = spread.whole();
    std::vector<std::unique_ptr<RunSet>> runs;
    std::vector<std::unique_ptr<ReceivedQuery>> received;
    for (std::size_t part = 0; part < spread.size(); ++part) {
        // The session may change the query between two parts: that each is one its engine finds out.
        runs.push_back(std::make_unique<RunSet>(spread.work(part), request.run, request.runs, column_bits,
                                                reply.header));
    }
    // Making a code space takes a stream.
    spread.run_one(0, [&](Work &work) {
        for (std::size_t part = 0; part < spread.size(); ++part) {
            received.push_back(std::make_unique<ReceivedQuery>(work, request, *runs[part], part == 0));
        }
    });
    std::atomic<bool> has_maps{true};
    spread.run([&](std::size_t part, Work &work) {
        if (!received[part]->find_maps(work, *runs[part])) {
            has_maps = false;
        }
    });
    if (!has_maps) {
        reply.outcome = static_cast<std::uint32_t>(query::QueryOutcome::lacks_maps);
        return;
    }
    const std::vector<const HeapBlocks *> no_blocks(received.front()->tables().size());
    const query::Query first = received.front()->query(no_blocks, request.max_rows);
    if (const char *problem = query::find_problem(first); problem != nullptr) {
        refuse(problem);
    }
    if (!query::can_be_divided(first)) {
        return;
    }
    query::QueryParts query(first);
    MemoryBudget &memory = whole.server().engines().host().memory();
    std::vector<PartRows> parts(spread.size());
    spread.run([&](std::size_t part, Work &work) {
        const std::unique_ptr<query::QueryResult> result =
            run_here(work, *received[part], *runs[part], 0,
                     [&query](const query::Query &own) { return query.of_part(own); });
        parts[part].read(memory, *work.stream, *result, query.types());
    });
    for (std::size_t part = 0; part < parts.size(); ++part) {
        whole.items += spread.work(part).items;
    }
    spread.run_one(0, [&](Work &work) {
        KeptRows kept = begin_kept(work);
        kept.result = merge_parts(work, query, parts);
        Results results(whole.connection.buffer, request.results, request.capacity);
        give_rows(work, std::move(kept), results, reply);
        whole.bytes = work.bytes;
    });
}

void result_read_query(Work &work, const protocol::ReadQuery &request, protocol::QueryReply &reply) {
    KeptRows kept = work.connection.take_kept();
    if (kept.result == nullptr || kept.engine != work.engine_name) {
        refuse("there are no rows left to be read");
    }
    Results results(work.connection.buffer, request.results, request.capacity);
    give_rows(work, std::move(kept), results, reply);
    work.items = reply.here;
}

}  // namespace gpu_engine::server
