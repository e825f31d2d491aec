// Runs that are loaded in parts, each on another engine.
#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu_engine/grid_pages.h"
#include "server/grid_loads.h"
#include "server/own_objects.h"
#include "server/run_set.h"
#include "server/spread.h"

#include "gpu_engine/boundary.h"

namespace gpu_engine::server {

using protocol::Answer;

namespace {

// What a part takes on its engine at last, and while it is made.
struct PartBytes {
    std::uint64_t bytes;
    std::uint64_t in_the_making;
};

// Begins to load what the work's shares say. `bytes_of(engine, entries)` is what a part takes there.
template <typename Request, typename BytesOf>
bool begin_in_parts(Work &work, const Request &request, BytesOf bytes_of, OwnObject *own,
                    protocol::BeginReply &reply) {
    if (!begin_own(work, request.name, request.holder, own, reply)) {
        return false;
    }
    std::vector<NewMirrorPart> room;
    own->in_parts = std::make_unique<LoadInParts>();
    for (const RunShare &share : *work.shares) {
        Engine &engine = *work.server().engines().get(share.held_by);
        const PartBytes its = bytes_of(engine, share.entries);
        room.push_back({share.held_by, &engine.memory(), its.bytes, its.in_the_making});
        own->in_parts->parts.push_back({share.held_by, share.first, share.entries, {}, {}});
    }
    require_room(work, *own, room);
    return true;
}

// Calls body(work, part) for each part of what is being loaded that `concerned(part)` is true for, on its
// engine.
template <typename Concerned, typename Body>
void for_parts(Spread &spread, LoadInParts &load, Concerned concerned, Body body) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < load.parts.size(); ++i) {
        if (concerned(load.parts[i])) {
            chosen.push_back(i);
        }
    }
    // Most pages are one part's.
    if (chosen.size() == 1) {
        spread.run_one(chosen.front(), [&](Work &work) { body(work, load.parts[chosen.front()]); });
    } else if (!chosen.empty()) {
        spread.run([&](std::size_t part, Work &work) {
            if (concerned(load.parts[part])) {
                body(work, load.parts[part]);
            }
        });
    }
}

LoadInParts &load_of(Spread &spread, std::uint64_t handle) {
    LoadInParts &load = *object_in_parts(spread.whole(), handle).in_parts;
    if (load.parts.size() != spread.size()) {
        refuse("the array is on other engines");
    }
    return load;
}

// The pages that a part takes next of those that have come.
struct PageRange {
    std::uint64_t first;
    std::uint64_t end;
};

template <typename Key>
PageRange pages_of(const PartInTheMaking &part, const protocol::AppendPages &request) {
    const std::uint64_t loaded = part.loader.get<Key>()->loaded();
    const std::uint64_t per_page = request.layout.per_page;
    if (loaded == part.entries) {
        return {0, 0};
    }
    const std::uint64_t run_first = request.run_first + part.first;
    const std::uint64_t first = (run_first + loaded) / per_page;
    const std::uint64_t end = (run_first + part.entries - 1) / per_page + 1;
    return {std::max<std::uint64_t>(first, request.first_page),
            std::min<std::uint64_t>(end, std::uint64_t(request.first_page) + request.pages)};
}

void append_entries(Spread &spread, LoadInParts &load, const protocol::AppendPages &request,
                    const char *images) {
    if (request.layout.per_page == 0) {
        refuse("pages hold no entries");
    }
    with_key(load.parts.front().loader.key_bits(), [&]<typename Key>(Key) {
        for_parts(
            spread, load,
            [&](const PartInTheMaking &part) {
                const PageRange pages = pages_of<Key>(part, request);
                return pages.first < pages.end;
            },
            [&](Work &work, PartInTheMaking &part) {
                const PageRange pages = pages_of<Key>(part, request);
                KaryLoader<Key> &loader = *part.loader.get<Key>();
                const std::uint64_t before = loader.loaded();
                check(loader.append_pages(
                    *work.stream, {images + (pages.first - request.first_page) * request.layout.page_bytes,
                                   request.run_entries, request.run_first + part.first,
                                   static_cast<std::uint32_t>(pages.first),
                                   static_cast<std::uint32_t>(pages.end - pages.first), request.layout}));
                work.items = loader.loaded() - before;
            });
    });
}

// The run's entries that are on the pages which have come: page i has those from starts[i] to starts[i + 1].
// Pages' heads are the session's to change, so the loaders read and check them once more.
std::vector<std::uint64_t> starts_of_pages(const LoadInParts &load, const protocol::AppendPages &request,
                                           const char *images) {
    const PageLayout &layout = request.layout;
    if (layout.first_byte > layout.page_bytes ||
        layout.page_bytes - layout.first_byte < sizeof(GridPageHead)) {
        refuse("no page has this layout");
    }
    std::uint64_t entries = 0;
    std::vector<std::uint64_t> starts(1, 0);
    for (const PartInTheMaking &part : load.parts) {
        starts.front() += part.loader.grid()->loaded();
        entries += part.entries;
    }
    for (std::uint32_t page = 0; page < request.pages; ++page) {
        GridPageHead head;
        std::memcpy(&head, images + std::uint64_t(page) * layout.page_bytes + layout.first_byte,
                    sizeof(head));
        if (head.first != starts.back() || head.count == 0 || head.count > entries - starts.back()) {
            refuse("a page contradicts its run");
        }
        starts.push_back(head.first + head.count);
    }
    return starts;
}

void append_points(Spread &spread, LoadInParts &load, const protocol::AppendPages &request,
                   const char *images) {
    const std::vector<std::uint64_t> starts = starts_of_pages(load, request, images);
    const auto pages_of = [&](const PartInTheMaking &part) {
        const std::uint64_t first = std::max(part.first, starts.front());
        const std::uint64_t end = std::min(part.first + part.entries, starts.back());
        if (first >= end) {
            return PageRange{0, 0};
        }
        const auto page_of = [&](std::uint64_t entry) {
            return static_cast<std::uint64_t>(std::upper_bound(starts.begin(), starts.end(), entry) -
                                              starts.begin() - 1);
        };
        return PageRange{page_of(first), page_of(end - 1) + 1};
    };
    for_parts(
        spread, load, [&](const PartInTheMaking &part) { return pages_of(part).first < pages_of(part).end; },
        [&](Work &work, PartInTheMaking &part) {
            const PageRange pages = pages_of(part);
            GridLoader &loader = *part.loader.grid();
            const std::uint64_t before = loader.loaded();
            const GridPages images_of_part = {images + pages.first * request.layout.page_bytes,
                                              static_cast<std::uint32_t>(pages.end - pages.first),
                                              request.layout.page_bytes, request.layout.first_byte};
            check(with_room(work, [&] { return loader.append_pages(*work.stream, images_of_part); }));
            work.items = loader.loaded() - before;
        });
}

// An engine takes TIDs apart in memory of its own.
constexpr std::uint32_t tid_pages_at_once = 128;

// All TIDs have come, so what each part will be is known.
void open_column_loaders(Spread &spread, LoadInParts &load) {
    spread.run([&](std::size_t i, Work &work) {
        PartInTheMaking &part = load.parts[i];
        const StoreLayout &layout = load.columns->layout(i);
        std::unique_ptr<ColumnLoader> loader;
        check(with_room(work,
                        [&] { return work.engine->column().open_loader(*work.stream, layout, &loader); }));
        const std::vector<char> tids = load.columns->give_tids(i);
        for (std::uint32_t page = 0; page < layout.tid_pages; page += tid_pages_at_once) {
            const std::uint32_t pages = std::min(layout.tid_pages - page, tid_pages_at_once);
            const char *images = tids.data() + std::uint64_t(page) * layout.page_bytes;
            check(with_room(work, [&] { return loader->append_pages(*work.stream, images, pages); }));
        }
        part.loader = AnyLoader(std::move(loader));
    });
}

void append_columns(Spread &spread, LoadInParts &load, const protocol::AppendPages &request,
                    const char *images) {
    ColumnDivider &columns = *load.columns;
    const StoreLayout &run = columns.run();
    if (request.layout.page_bytes != run.page_bytes || request.pages > run.pages() - columns.taken_pages()) {
        refuse("pages have another size, or are more than the run has");
    }
    std::uint64_t first = columns.taken_pages();
    std::uint32_t pages = request.pages;
    if (first < run.tid_pages) {
        const auto of_tids =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(pages, run.tid_pages - first));
        columns.take_tids(images, of_tids);
        if (columns.has_all_tids()) {
            open_column_loaders(spread, load);
        }
        images += std::uint64_t(of_tids) * run.page_bytes;
        first += of_tids;
        pages -= of_tids;
    }
    columns.note_taken(request.pages);
    if (pages == 0) {
        return;
    }
    spread.run([&](std::size_t i, Work &work) {
        const std::vector<char> cut = columns.cut(i, images, first - run.tid_pages, pages);
        const auto full = static_cast<std::uint32_t>(cut.size() / run.page_bytes);
        ColumnLoader &loader = *load.parts[i].loader.column();
        if (full > 0) {
            check(with_room(work, [&] { return loader.append_pages(*work.stream, cut.data(), full); }));
        }
    });
}

// The ends of neighbouring parts must be in order, as all else is.
template <typename Key>
struct EndsOfPart {
    Key first_key;
    Tid first_tid;
    Key last_key;
    Tid last_tid;
};

// Returns whether the entries of all parts came in order.
bool finish_sorted_parts(Spread &spread, LoadInParts &load) {
    return with_key(load.parts.front().loader.key_bits(), [&]<typename Key>(Key) {
        std::vector<EndsOfPart<Key>> ends(load.parts.size());
        std::vector<char> ordered(load.parts.size(), 0);
        spread.run([&](std::size_t i, Work &work) {
            PartInTheMaking &part = load.parts[i];
            KaryLoader<Key> &loader = *part.loader.get<Key>();
            const std::uint64_t levels = kary<Key>(*work.engine).array_bytes(part.entries) -
                                         part.entries * (sizeof(Key) + sizeof(Tid));
            static_cast<void>(
                work.server().mirrors().make_room(work.id, work.engine->memory(), levels, work.purpose));
            std::unique_ptr<KaryArray<Key>> array;
            bool in_order = true;
            const Status status = loader.finish(*work.stream, false, &in_order, &array);
            if (!in_order) {
                return;
            }
            check(status);
            check(array->read(*work.stream, 0, 1, &ends[i].first_key, &ends[i].first_tid));
            check(array->read(*work.stream, part.entries - 1, 1, &ends[i].last_key, &ends[i].last_tid));
            part.object = AnyObject(std::move(array));
            ordered[i] = 1;
        });
        for (std::size_t i = 0; i < ordered.size(); ++i) {
            if (ordered[i] == 0 || (i > 0 && std::pair(ends[i].first_key, ends[i].first_tid) <
                                                 std::pair(ends[i - 1].last_key, ends[i - 1].last_tid))) {
                return false;
            }
        }
        return true;
    });
}

void finish_column_parts(Spread &spread, LoadInParts &load) {
    if (!load.is_sound || load.columns->taken_pages() != load.columns->run().pages()) {
        refuse("pages of the run are missing");
    }
    spread.run([&](std::size_t i, Work &work) {
        std::unique_ptr<ColumnStore> store;
        check(load.parts[i].loader.column()->finish(*work.stream, &store));
        load.parts[i].object = AnyObject(std::move(store));
    });
}

void finish_grid_parts(Spread &spread, OwnObject &own) {
    if (!own.in_parts->is_sound) {
        refuse("entries of the grid are missing");
    }
    spread.run([&](std::size_t i, Work &work) {
        PartInTheMaking &part = own.in_parts->parts[i];
        part.object = finish_grid(work, own, *part.loader.grid());
        part.loader = {};
    });
}

void add_up_work(Spread &spread) {
    for (std::size_t part = 0; part < spread.size(); ++part) {
        spread.whole().items += spread.work(part).items;
    }
}

}  // namespace

void spread_begin_kary(Spread &spread, const protocol::BeginKary &request, protocol::BeginReply &reply) {
    Work &work = spread.whole();
    with_key(request.key_bits, [&]<typename Key>(Key) {
        OwnObject own;
        own.sorted = true;
        if (!begin_in_parts(
                work, request,
                [](Engine &engine, std::uint64_t entries) {
                    const std::uint64_t bytes = kary<Key>(engine).array_bytes(entries);
                    return PartBytes{bytes, bytes};
                },
                &own, reply)) {
            return;
        }
        spread.run([&](std::size_t i, Work &its_work) {
            PartInTheMaking &part = own.in_parts->parts[i];
            std::unique_ptr<KaryLoader<Key>> loader;
            check(kary<Key>(*its_work.engine).open_loader(*its_work.stream, part.entries, &loader));
            part.loader = AnyLoader(std::move(loader));
        });
        reply.handle = add_own_object(work, std::move(own));
    });
}

void spread_begin_grid(Spread &spread, const protocol::BeginGrid &request, protocol::BeginReply &reply) {
    Work &work = spread.whole();
    OwnObject own;
    own.columns = columns_of(request);
    own.grid = options_of(request);
    if (!begin_in_parts(
            work, request,
            [&own](Engine &, std::uint64_t entries) {
                return PartBytes{grid_bytes(own.columns, entries),
                                 grid_bytes_while_built(own.columns, entries)};
            },
            &own, reply)) {
        return;
    }
    spread.run([&](std::size_t i, Work &its_work) {
        PartInTheMaking &part = own.in_parts->parts[i];
        std::unique_ptr<GridLoader> loader;
        check(its_work.engine->grid().open_loader(*its_work.stream, own.columns,
                                                  {request.entries, part.first, part.entries}, &loader));
        part.loader = AnyLoader(std::move(loader));
    });
    reply.handle = add_own_object(work, std::move(own));
}

void spread_begin_column(Spread &spread, const protocol::BeginColumn &request, protocol::BeginReply &reply) {
    Work &work = spread.whole();
    OwnObject own;
    if (!begin_in_parts(
            work, request,
            [&request](Engine &engine, std::uint64_t rows) {
                const std::uint64_t bytes = engine.column().store_bytes(layout_of_rows(request.layout, rows));
                return PartBytes{bytes, bytes};
            },
            &own, reply)) {
        return;
    }
    own.in_parts->columns =
        std::make_unique<ColumnDivider>(work.server().transfer_memory(), request.layout, *work.shares);
    reply.handle = add_own_object(work, std::move(own));
}

void spread_append_pages(Spread &spread, const protocol::AppendPages &request, protocol::ReplyHeader &) {
    LoadInParts &load = load_of(spread, request.handle);
    const std::uint64_t bytes = std::uint64_t(request.pages) * request.layout.page_bytes;
    const char *images = spread.whole().connection.buffer.part<char>(request.offset, bytes);
    if (load.columns != nullptr || load.parts.front().loader.grid() != nullptr) {
        if (!load.is_sound) {
            refuse("a part of the run could not be loaded");
        }
        load.is_sound = false;
        if (load.columns != nullptr) {
            append_columns(spread, load, request, images);
            spread.whole().items = request.pages;
        } else {
            append_points(spread, load, request, images);
            add_up_work(spread);
        }
        load.is_sound = true;
    } else {
        append_entries(spread, load, request, images);
        add_up_work(spread);
    }
    spread.whole().bytes = bytes;
}

void spread_append_kary(Spread &spread, const protocol::AppendKary &request, protocol::ReplyHeader &) {
    LoadInParts &load = load_of(spread, request.handle);
    if (load.columns != nullptr) {
        refuse("columns come by pages");
    }
    const TransferBuffer &buffer = spread.whole().connection.buffer;
    with_key(load.parts.front().loader.key_bits(), [&]<typename Key>(Key) {
        const Key *keys = buffer.part<Key>(request.keys_offset, request.count);
        const Tid *tids = buffer.part<Tid>(request.tids_offset, request.count);
        std::uint64_t loaded = 0;
        std::uint64_t entries = 0;
        for (const PartInTheMaking &part : load.parts) {
            loaded += part.loader.get<Key>()->loaded();
            entries += part.entries;
        }
        if (request.count > entries - loaded) {
            refuse("more entries than the array was begun with");
        }
        const auto share_of = [&](const PartInTheMaking &part) {
            return PageRange{std::max(part.first, loaded),
                             std::min(part.first + part.entries, loaded + request.count)};
        };
        for_parts(
            spread, load,
            [&](const PartInTheMaking &part) { return share_of(part).first < share_of(part).end; },
            [&](Work &work, PartInTheMaking &part) {
                const PageRange share = share_of(part);
                work.items = share.end - share.first;
                check(part.loader.get<Key>()->append(*work.stream, keys + (share.first - loaded),
                                                     tids + (share.first - loaded), work.items));
            });
        spread.whole().bytes = request.count * (sizeof(Key) + sizeof(Tid));
    });
    spread.whole().items = request.count;
}

void spread_finish(Spread &spread, const protocol::HandleRequest &request, protocol::HandleReply &reply) {
    Work &work = spread.whole();
    LoadInParts &load = load_of(spread, request.handle);
    // From here on the object no longer belongs to the connection, so it ends whatever fails.
    auto node = work.connection.objects.extract(request.handle);
    if (load.columns != nullptr) {
        finish_column_parts(spread, load);
    } else if (load.parts.front().loader.grid() != nullptr) {
        finish_grid_parts(spread, node.mapped());
    } else if (!finish_sorted_parts(spread, load)) {
        set_answer(reply.header, Answer::disorder);
        reply.header.status =
            make_status(StatusCode::invalid_argument, "the entries are not ordered by key and TID");
        return;
    }
    std::vector<MirrorPart> parts;
    for (PartInTheMaking &part : load.parts) {
        describe(part.object, reply);
        parts.push_back({part.held_by, part.first, std::move(part.object)});
    }
    work.items = reply.entries;
    work.bytes = reply.bytes;
    make_mirror(work, std::move(parts), node.mapped().name, node.mapped().holder, node.mapped().moves);
}

void spread_set_dead(Spread &spread, const protocol::SetDead &request, protocol::ReplyHeader &reply) {
    Work &work = spread.whole();
    const std::shared_ptr<Mirror> mirror =
        work.server().mirrors().find(work.engine_name, request.name, work.purpose);
    // It may have gone since these engines were chosen, and others have the run.
    bool is_here = mirror != nullptr && mirror->parts.size() == spread.size();
    for (std::size_t i = 0; is_here && i < spread.size(); ++i) {
        is_here = mirror->parts[i].held_by == spread.work(i).id;
    }
    if (!is_here) {
        set_answer(reply, Answer::not_resident);
        reply.lacking = 1;
        return;
    }
    const std::uint64_t *bitmap = bitmap_of(work, *mirror, request);
    spread.run([&](std::size_t i, Work &its_work) {
        set_dead_of(its_work, mirror->parts[i], bitmap, request.version);
    });
    work.items = 1;
    work.bytes = request.words * sizeof(std::uint64_t);
}

}  // namespace gpu_engine::server
