// Runs of points in a server: how tests load them, ask them, and compare the answers with a plain reference.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "grid_run_pages.h"
#include "heap_facts.h"
#include "server_client.h"

namespace server_test {

using grid_test::Boxes;
using grid_test::Keys;
using grid_test::make_page;
using grid_test::make_pages;
using grid_test::Page;
using grid_test::Points;
using grid_test::tid_number;
using grid_test::values_of;
using Random = std::mt19937_64;
using Sets = std::vector<std::vector<std::uint64_t>>;

// Columns of a run: their widths, and the bits of their NULLs.
struct Columns {
    std::vector<bool> wide;
    std::vector<std::uint8_t> null_bit;
};

inline Points make_points(const Columns &columns, std::size_t count, bool with_nulls, Random &random) {
    Points points;
    for (const bool wide : columns.wide) {
        points.keys.emplace_back(wide);
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::uint8_t nulls = 0;
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            const std::uint64_t spread = c % 3 == 0 ? 40 : c % 3 == 1 ? 3000 : points.keys[c].highest();
            points.keys[c].push(random() % 50 == 0 ? points.keys[c].highest() - random() % 2
                                                   : random() % spread);
        }
        for (std::uint32_t bit = 0; with_nulls && bit < 8; ++bit) {
            const bool is_null = random() % 12 == 0;
            for (std::uint32_t c = 0; is_null && c < points.columns(); ++c) {
                nulls |= static_cast<std::uint8_t>(columns.null_bit[c] == bit ? 1U << c : 0U);
            }
        }
        if (with_nulls) {
            points.nulls.push_back(nulls);
        }
        points.tids.push_back(grid_test::make_tid((random() % 5000) << 16 | (random() % 200 + 1)));
    }
    return points;
}

inline Boxes make_boxes(const Points &points, std::size_t count, Random &random) {
    Boxes boxes(points);
    for (std::size_t i = 0; i < count; ++i) {
        const bool exact = random() % 4 == 0;
        for (std::uint32_t c = 0; c < points.columns(); ++c) {
            const auto some_key = [&] {
                return points.count() == 0 ? random() % 40 : points.keys[c][random() % points.count()];
            };
            std::uint64_t low = some_key();
            std::uint64_t high = exact ? low : some_key();
            if (low > high && random() % 16 != 0) {
                std::swap(low, high);
            }
            boxes.low[c].push(low);
            boxes.high[c].push(high);
        }
        boxes.open.push_back(static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : random()));
        boxes.null.push_back(static_cast<std::uint8_t>(random() % 8 == 0 ? random() & random() : 0));
    }
    return boxes;
}

class ServerOfPoints : public ServerTest {
  protected:
    explicit ServerOfPoints(EngineName engine, const gpu_engine::server::Options &options = {})
        : ServerTest(engine, buffer_bytes, options) {}

    static constexpr std::uint64_t buffer_bytes = 16 << 20;
    static constexpr std::uint64_t results = 8 << 20;

    static protocol::BeginGrid beginning(std::uint64_t run, const Columns &columns, std::size_t entries) {
        protocol::BeginGrid begin{};
        begin.name = run_name(run);
        begin.entries = entries;
        begin.holder.user = 10;
        begin.columns = static_cast<std::uint32_t>(columns.wide.size());
        begin.bucket = 8;
        begin.distinct = run % 2;
        begin.unsplit = run == 1 && columns.wide.size() > 1 ? 2 : 0;
        for (std::size_t c = 0; c < columns.wide.size(); ++c) {
            begin.key_bytes[c] = columns.wide[c] ? 8 : 4;
            begin.null_bit[c] = columns.null_bit[c];
        }
        return begin;
    }
    protocol::ReplyHeader append(std::uint64_t handle, const std::vector<Page> &pages) {
        protocol::AppendPages message{};
        message.handle = handle;
        message.pages = static_cast<std::uint32_t>(pages.size());
        message.layout = {grid_test::page_bytes, grid_test::first_byte, 0, 0};
        for (std::size_t i = 0; i < pages.size(); ++i) {
            std::memcpy(client_->buffer() + i * grid_test::page_bytes, pages[i].data(), pages[i].size());
        }
        return client_->ask<protocol::ReplyHeader>(Message::append_pages, message);
    }
    void load(std::uint64_t run, const Columns &columns, const Points &points, std::size_t most) {
        const auto begun =
            client_->ask<protocol::BeginReply>(Message::begin_grid, beginning(run, columns, points.count()));
        ASSERT_EQ(Client::answer_of(begun.header), Answer::done) << begun.header.status.message;
        ASSERT_NE(begun.handle, 0U);
        const std::vector<Page> pages = make_pages(points, columns.null_bit, most, random_);
        ASSERT_EQ(pages.empty(), points.count() == 0);
        for (std::size_t first = 0; first < pages.size();) {
            const std::size_t last = std::min<std::size_t>(first + 1 + random_() % 300, pages.size());
            const std::vector<Page> some(pages.begin() + static_cast<std::ptrdiff_t>(first),
                                         pages.begin() + static_cast<std::ptrdiff_t>(last));
            const protocol::ReplyHeader reply = append(begun.handle, some);
            ASSERT_EQ(Client::answer_of(reply), Answer::done) << reply.status.message;
            first = last;
        }
        const protocol::HandleReply finished = client_->finish(begun.handle);
        ASSERT_EQ(Client::answer_of(finished.header), Answer::done) << finished.header.status.message;
        EXPECT_EQ(finished.entries, points.count());
        EXPECT_EQ(finished.handle, 0U);
    }
    void kill_some(std::uint64_t run, Points *points) {
        std::vector<std::uint64_t> words((points->count() + 63) / 64, 0);
        points->dead.assign(points->count(), false);
        for (std::size_t i = 0; i < points->count(); ++i) {
            if (random_() % 5 == 0) {
                points->dead[i] = true;
                words[i / 64] |= std::uint64_t(1) << (i % 64);
            }
        }
        ASSERT_EQ(Client::answer_of(client_->set_dead(run_name(run), words, run)), Answer::done);
    }

    template <typename Request>
    static void name_runs(Request *request, std::size_t count) {
        request->runs = static_cast<std::uint32_t>(count);
        for (std::size_t i = 0; i < count; ++i) {
            request->run[i] = {run_name(i + 1), i + 1};
        }
    }
    // From the buffer's beginning on; a column that is open in all boxes goes without bounds.
    protocol::BoxesPlace place_boxes(const Boxes &boxes) {
        protocol::BoxesPlace place{};
        place.count = boxes.count();
        place.columns = static_cast<std::uint32_t>(boxes.low.size());
        std::uint64_t at = 0;
        const auto put = [&](const void *data, std::uint64_t bytes) {
            std::copy_n(static_cast<const char *>(data), bytes, client_->buffer() + at);
            const std::uint64_t began = at;
            at += (bytes + 15) / 16 * 16;
            return began;
        };
        for (std::uint32_t c = 0; c < place.columns; ++c) {
            place.key_bytes[c] = boxes.low[c].wide() ? 8 : 4;
            const bool open = std::all_of(boxes.open.begin(), boxes.open.end(),
                                          [c](std::uint8_t mask) { return (mask >> c & 1) != 0; });
            place.low[c] =
                open ? protocol::nowhere : put(boxes.low[c].data(), place.count * place.key_bytes[c]);
            place.high[c] =
                open ? protocol::nowhere : put(boxes.high[c].data(), place.count * place.key_bytes[c]);
        }
        place.open = put(boxes.open.data(), place.count);
        place.null = put(boxes.null.data(), place.count);
        return place;
    }
    // A run's TIDs item by item, ascending.
    Sets sets_of(const protocol::ResultReply &reply, std::size_t run, std::size_t items) {
        const auto *offsets = client_->at<std::uint64_t>(reply.offsets_at[run]);
        const auto *tids = client_->at<Tid>(reply.tids_at[run]);
        Sets sets(items);
        for (std::size_t i = 0; i < items; ++i) {
            for (std::uint64_t j = offsets[i]; j < offsets[i + 1]; ++j) {
                sets[i].push_back(tid_number(tids[j]));
            }
            std::sort(sets[i].begin(), sets[i].end());
        }
        return sets;
    }
    // Room for the answer exactly, and less than that.
    template <typename Request>
    void check_room(Message type, Request request, std::uint64_t needed) {
        request.capacity = needed;
        const auto tight = client_->ask<protocol::ResultReply>(type, request);
        EXPECT_EQ(Client::answer_of(tight.header), Answer::done) << tight.header.status.message;
        request.capacity -= 16;
        const auto small = client_->ask<protocol::ResultReply>(type, request);
        EXPECT_EQ(small.header.status.code, StatusCode::insufficient_space);
        EXPECT_EQ(small.needed, needed);
    }
    void check_search(const std::vector<Points> &runs, const Boxes &boxes) {
        protocol::SearchGrid request{};
        name_runs(&request, runs.size());
        request.boxes = place_boxes(boxes);
        request.results = results;
        request.capacity = buffer_bytes - results;
        const auto reply = client_->ask<protocol::ResultReply>(Message::search_grid, request);
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done) << reply.header.status.message;
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            Sets expected;
            for (std::size_t j = 0; j < boxes.count(); ++j) {
                expected.push_back(boxes.answer(runs[i], j));
                total += expected.back().size();
            }
            ASSERT_EQ(sets_of(reply, i, boxes.count()), expected) << "run " << i;
        }
        EXPECT_EQ(reply.tids, total);
        check_room(Message::search_grid, request, reply.needed);
    }
    void check_count(const std::vector<Points> &runs, const Boxes &boxes, bool all_visible) {
        constexpr std::uint64_t facts_at = 4 << 20;
        heap_facts::HeapFacts facts = heap_facts::HeapFacts::random(4013, random_);
        protocol::CountGrid request{};
        name_runs(&request, runs.size());
        request.boxes = place_boxes(boxes);
        request.blocks = facts.place(client_->buffer(), facts_at);
        request.blocks.all_visible = all_visible ? 1 : 0;
        request.results = results;
        request.capacity = buffer_bytes - results;
        const auto reply = client_->ask<protocol::ResultReply>(Message::count_grid, request);
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done) << reply.header.status.message;
        std::vector<std::uint64_t> counts(boxes.count(), 0);
        for (std::size_t i = 0; i < runs.size(); ++i) {
            Sets hidden(boxes.count());
            for (std::size_t j = 0; j < boxes.count(); ++j) {
                for (const std::uint64_t tid : boxes.answer(runs[i], j)) {
                    const heap_facts::Answer answer =
                        all_visible ? heap_facts::Answer::visible : facts.of(tid);
                    counts[j] += answer == heap_facts::Answer::visible ? 1 : 0;
                    if (answer == heap_facts::Answer::unknown) {
                        hidden[j].push_back(tid);
                    }
                }
            }
            if (!all_visible) {
                ASSERT_EQ(sets_of(reply, i, boxes.count()), hidden) << "run " << i;
            }
        }
        const auto *found = client_->at<std::uint64_t>(results);
        EXPECT_EQ(std::vector<std::uint64_t>(found, found + boxes.count()), counts);
        if (!all_visible) {
            check_room(Message::count_grid, request, reply.needed);
        }
    }
    void check_match(const std::vector<Points> &runs, const Columns &columns, std::size_t count) {
        std::vector<Keys> probes;
        for (const bool wide : columns.wide) {
            probes.emplace_back(wide);
        }
        for (std::size_t i = 0; i < count; ++i) {
            const Points &run = runs[random_() % runs.size()];
            const std::size_t chosen = run.count() == 0 ? 0 : random_() % run.count();
            for (std::uint32_t c = 0; c < probes.size(); ++c) {
                probes[c].push(run.count() == 0 ? 3 : run.keys[c][chosen] + (random_() % 8 == 0 ? 1 : 0));
            }
        }
        protocol::MatchGrid request{};
        name_runs(&request, runs.size());
        request.columns = static_cast<std::uint32_t>(probes.size());
        request.count = count;
        for (std::uint32_t c = 0; c < probes.size(); ++c) {
            request.key_bytes[c] = columns.wide[c] ? 8 : 4;
            request.keys[c] = std::uint64_t(c) << 16;
            std::memcpy(client_->buffer() + request.keys[c], probes[c].data(), count * request.key_bytes[c]);
        }
        request.results = results;
        request.capacity = buffer_bytes - results;
        const auto reply = client_->ask<protocol::ResultReply>(Message::match_grid, request);
        ASSERT_EQ(Client::answer_of(reply.header), Answer::done) << reply.header.status.message;
        for (std::size_t run = 0; run < runs.size(); ++run) {
            Sets expected(count);
            for (std::size_t i = 0; i < count; ++i) {
                for (std::size_t j = 0; j < runs[run].count(); ++j) {
                    bool equal = !runs[run].is_dead(j) && runs[run].null_mask(j) == 0;
                    for (std::uint32_t c = 0; equal && c < probes.size(); ++c) {
                        equal = runs[run].keys[c][j] == probes[c][i];
                    }
                    if (equal) {
                        expected[i].push_back(tid_number(runs[run].tids[j]));
                    }
                }
                std::sort(expected[i].begin(), expected[i].end());
            }
            ASSERT_EQ(sets_of(reply, run, count), expected) << "run " << run;
        }
        check_room(Message::match_grid, request, reply.needed);
    }
    void check_all(const std::vector<Points> &runs, const Columns &columns) {
        for (const std::size_t count : {std::size_t(0), std::size_t(1), std::size_t(60)}) {
            SCOPED_TRACE(std::to_string(count) + " boxes");
            const Boxes boxes = make_boxes(runs[0], count, random_);
            if (count > 0) {
                check_search(runs, boxes);
                check_count(runs, boxes, false);
            }
            check_count(runs, boxes, true);
            ASSERT_FALSE(HasFatalFailure());
        }
        check_match(runs, columns, 100);
    }

    StatusCode begin_code(const protocol::BeginGrid &request) {
        return client_->ask<protocol::BeginReply>(Message::begin_grid, request).header.status.code;
    }
};

}  // namespace server_test
