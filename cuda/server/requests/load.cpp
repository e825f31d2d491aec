// Arrays: loading them, naming them, and those that only their connection knows.
#include <algorithm>
#include <type_traits>

#include "server/residency/column_divider.h"
#include "server/requests/grid_loads.h"
#include "server/requests/moved_entries.h"
#include "server/residency/own_objects.h"
#include "server/requests/request.h"
#include "server/requests/run_set.h"
#include "server/requests/scratch.h"
#include "server/requests/spread.h"

namespace gpu_engine::server {

using protocol::ReplyResult;

namespace {

TextShape shape_of(const protocol::BeginText &request) {
    if (request.codec >= postings::kCodecs) {
        refuse("lists have no such codec");
    }
    return {request.posting_bytes, request.documents, static_cast<postings::Codec>(request.codec)};
}

template <typename Loader>
std::uint64_t loaded_by(const Loader &loader) {
    if constexpr (std::is_same_v<Loader, TextLoader>) {
        return loader.loaded_documents();
    } else if constexpr (std::is_same_v<Loader, ColumnLoader>) {
        return loader.loaded_pages();
    } else {
        return loader.loaded();
    }
}

// Documents come first, then postings; pages are numbered through both.
Status append_lists(Work &work, TextLoader &loader, const OwnObject &own,
                    const protocol::AppendPages &request, const void *images) {
    constexpr std::uint32_t document_bytes = sizeof(Tid) + 3;
    const PageLayout &layout = request.layout;
    TextPages pages = {images, request.pages, layout.page_bytes, layout.first_byte, own.content_bytes};
    const std::uint32_t per_page = std::max<std::uint32_t>(own.content_bytes / document_bytes, 1);
    const std::uint32_t documents = own.lists.documents;
    const std::uint32_t document_pages = documents / per_page + (documents % per_page != 0 ? 1 : 0);
    if (request.first_page < document_pages) {
        pages.pages = std::min(request.pages, document_pages - request.first_page);
        const Status status = with_room(work, [&] { return loader.append_documents(*work.stream, pages); });
        if (!status.ok() || pages.pages == request.pages) {
            return status;
        }
        pages.images = static_cast<const char *>(images) + std::uint64_t(pages.pages) * layout.page_bytes;
        pages.pages = request.pages - pages.pages;
    }
    return with_room(work, [&] { return loader.append_postings(*work.stream, pages); });
}

// *ordered says whether the entries came in order.
void finish_sorted(Work &work, OwnObject &own, bool *ordered) {
    with_key(own.loader.key_bits(), [&]<typename Key>(Key) {
        KaryLoader<Key> &loader = *own.loader.get<Key>();
        // Makes room for the levels and for what sorting takes. Not having it all isn't fatal, so the result
        // doesn't matter.
        const std::uint64_t bytes = gpu_engine::kary<Key>(*work.engine).array_bytes(loader.entries());
        const std::uint64_t held = loader.entries() * (sizeof(Key) + sizeof(Tid));
        static_cast<void>(work.server().mirrors().make_room(
            work.id, work.engine->memory(), own.sorted ? bytes - held : 2 * bytes, work.purpose));
        std::unique_ptr<KaryArray<Key>> array;
        const Status status = loader.finish(*work.stream, !own.sorted, ordered, &array);
        if (!*ordered) {
            return;
        }
        check(status);
        own.object = AnyObject(std::move(array));
    });
}

void finish_columns(Work &work, OwnObject &own) {
    std::unique_ptr<ColumnStore> store;
    check(own.loader.column()->finish(*work.stream, &store));
    own.object = AnyObject(std::move(store));
}

void finish_lists(Work &work, OwnObject &own) {
    std::unique_ptr<TextIndex> index;
    check(with_room(work, [&] { return own.loader.text()->finish(*work.stream, &index); }));
    own.object = AnyObject(std::move(index));
}

}  // namespace

std::uint64_t load_bytes(Engine &engine, const protocol::BeginKary &request) {
    return with_key(request.key_bits, [&]<typename Key>(Key) {
        if (request.entries > Kary<Key>::max_entries) {
            refuse("more entries than an array can hold");
        }
        return kary<Key>(engine).array_bytes(request.entries);
    });
}

std::uint64_t load_bytes(Engine &, const protocol::BeginGrid &request) {
    // The memory that building takes is asked for at the beginning: unless something could be evicted for it,
    // the load would fail at its end.
    return grid_bytes_while_built(columns_of(request), request.entries);
}

std::uint64_t load_bytes(Engine &engine, const protocol::BeginColumn &request) {
    return engine.column().store_bytes(request.layout);
}

DivisibleRun divisible(Engine &engine, const protocol::BeginColumn &request) {
    if (!is_named(request.name) || load_bytes(engine, request) == 0) {
        return {};
    }
    return {request.layout.rows, [&engine, &request](std::uint64_t rows) {
                return engine.column().store_bytes(layout_of_rows(request.layout, rows));
            }};
}

std::uint64_t load_bytes(Engine &engine, const protocol::BeginText &request) {
    return engine.text().index_bytes(shape_of(request));
}

void handle_begin_kary(Work &work, const protocol::BeginKary &request, protocol::BeginReply &reply) {
    OwnObject own;
    own.sorted = request.sorted != 0;
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    with_key(request.key_bits, [&]<typename Key>(Key) {
        const std::uint64_t bytes = load_bytes(*work.engine, request);
        require_room(work, own, {{work.id, &work.engine->memory(), bytes, bytes}});
        std::unique_ptr<KaryLoader<Key>> loader;
        check(gpu_engine::kary<Key>(*work.engine).open_loader(*work.stream, request.entries, &loader));
        own.loader = AnyLoader(std::move(loader));
    });
    reply.handle = add_own_object(work, std::move(own));
}

void handle_begin_grid(Work &work, const protocol::BeginGrid &request, protocol::BeginReply &reply) {
    static_assert(protocol::max_columns == max_grid_columns);
    OwnObject own;
    if (!is_named(request.name)) {
        refuse("the name is empty");
    }
    own.columns = columns_of(request);
    own.grid = options_of(request);
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    require_room(work, own,
                 {{work.id, &work.engine->memory(), grid_bytes(own.columns, request.entries),
                   grid_bytes_in_the_making(own.columns, request.entries)}});
    std::unique_ptr<GridLoader> loader;
    check(work.engine->grid().open_loader(*work.stream, own.columns, request.entries, &loader));
    own.loader = AnyLoader(std::move(loader));
    reply.handle = add_own_object(work, std::move(own));
}

void handle_begin_column(Work &work, const protocol::BeginColumn &request, protocol::BeginReply &reply) {
    OwnObject own;
    if (!is_named(request.name)) {
        refuse("the name is empty");
    }
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    const std::uint64_t bytes = load_bytes(*work.engine, request);
    require_room_for_columns(work, own, request.layout, {{work.id, &work.engine->memory(), bytes, bytes}});
    std::unique_ptr<ColumnLoader> loader;
    check(work.engine->column().open_loader(*work.stream, request.layout, &loader));
    own.loader = AnyLoader(std::move(loader));
    reply.handle = add_own_object(work, std::move(own));
}

void handle_begin_text(Work &work, const protocol::BeginText &request, protocol::BeginReply &reply) {
    OwnObject own;
    if (!is_named(request.name)) {
        refuse("the name is empty");
    }
    own.lists = shape_of(request);
    own.content_bytes = request.content_bytes;
    if (!begin_own(work, request.name, request.holder, &own, reply)) {
        return;
    }
    const std::uint64_t bytes = load_bytes(*work.engine, request);
    require_room(work, own, {{work.id, &work.engine->memory(), bytes, bytes}});
    std::unique_ptr<TextLoader> loader;
    check(work.engine->text().open_loader(*work.stream, own.lists, &loader));
    own.loader = AnyLoader(std::move(loader));
    reply.handle = add_own_object(work, std::move(own));
}

void handle_append_pages(Work &work, const protocol::AppendPages &request, protocol::ReplyHeader &) {
    OwnObject &own = object_in_the_making(work, request.handle);
    const PageLayout &layout = request.layout;
    const std::uint64_t bytes = std::uint64_t(request.pages) * layout.page_bytes;
    const void *images = work.connection.buffer.part<char>(request.offset, bytes);
    own.loader.visit([&]<typename Loader>(Loader *loader) {
        const std::uint64_t before = loaded_by(*loader);
        if constexpr (std::is_same_v<Loader, TextLoader>) {
            check(append_lists(work, *loader, own, request, images));
        } else if constexpr (std::is_same_v<Loader, ColumnLoader>) {
            if (layout.page_bytes != loader->layout().page_bytes) {
                refuse("pages have another size");
            }
            check(with_room(work, [&] { return loader->append_pages(*work.stream, images, request.pages); }));
            append_strings(own, images, request.pages);
        } else if constexpr (std::is_same_v<Loader, GridLoader>) {
            const GridPages pages = {images, request.pages, layout.page_bytes, layout.first_byte};
            check(with_room(work, [&] { return loader->append_pages(*work.stream, pages); }));
        } else {
            check(loader->append_pages(*work.stream, {images, request.run_entries, request.run_first,
                                                      request.first_page, request.pages, layout}));
        }
        work.items = loaded_by(*loader) - before;
    });
    work.bytes = bytes;
}

void handle_append_kary(Work &work, const protocol::AppendKary &request, protocol::ReplyHeader &) {
    OwnObject &own = object_in_the_making(work, request.handle);
    with_key(own.loader.key_bits(), [&]<typename Key>(Key) {
        const TransferBuffer &buffer = work.connection.buffer;
        check(own.loader.get<Key>()->append(
            *work.stream, buffer.part<Key>(request.keys_offset, request.count),
            buffer.part<Tid>(request.tids_offset, request.count), request.count));
        work.bytes = request.count * (sizeof(Key) + sizeof(Tid));
    });
    work.items = request.count;
}

void handle_finish(Work &work, const protocol::HandleRequest &request, protocol::HandleReply &reply) {
    // The object no longer belongs to the connection from here on, so it ends whatever fails.
    object_in_the_making(work, request.handle);
    auto node = work.connection.objects.extract(request.handle);
    OwnObject &own = node.mapped();
    bool ordered = true;
    if (own.loader.grid() != nullptr) {
        own.object = finish_grid(work, own, *own.loader.grid());
    } else if (own.loader.column() != nullptr) {
        finish_columns(work, own);
    } else if (own.loader.text() != nullptr) {
        finish_lists(work, own);
    } else {
        finish_sorted(work, own, &ordered);
    }
    if (!ordered) {
        set_result(reply.header, ReplyResult::disorder);
        reply.header.status =
            make_status(StatusCode::invalid_argument, "the entries are not ordered by key and TID");
        return;
    }
    own.loader = {};
    describe(own.object, reply);
    work.items = reply.entries;
    work.bytes = reply.bytes;
    if (own.named) {
        make_mirror(work, whole_run(own.held_by, std::move(own.object)), own.name, own.holder,
                    own.strings.get());
        return;
    }
    reply.handle = request.handle;
    work.connection.objects.insert(std::move(node));
}

void handle_drop(Work &work, const protocol::HandleRequest &request, protocol::ReplyHeader &) {
    own_object(work, request.handle);
    work.connection.objects.erase(request.handle);
}

void handle_name_kary(Work &work, const protocol::NameKary &request, protocol::HandleReply &reply) {
    OwnObject &own = finished_object(work, request.handle);
    if (!is_named(request.name)) {
        refuse("the name is empty");
    }
    describe(own.object, reply);
    // The array is where it was sorted or merged, so its mirror is.
    const NewMirror mirror = {
        work.engine_name, request.name, request.holder, {{own.held_by, nullptr, reply.bytes, 0}}};
    if (work.server().mirrors().make_room_for(mirror, work.purpose, nullptr) == Room::made) {
        make_mirror(work, whole_run(own.held_by, std::move(own.object)), request.name, request.holder);
    }
    work.connection.objects.erase(request.handle);
}

void handle_set_dead(Work &work, const protocol::SetDead &request, protocol::ReplyHeader &reply) {
    const std::shared_ptr<Mirror> mirror =
        work.server().mirrors().find(work.engine_name, request.name, work.purpose);
    // It may have gone since this engine was chosen, and another one have the run.
    if (mirror == nullptr || mirror->parts.front().held_by != work.id || mirror->parts.size() > 1) {
        set_result(reply, ReplyResult::not_resident);
        reply.lacking = 1;
        return;
    }
    set_dead_of(work, mirror->parts.front(), bitmap_of(work, *mirror, request), request.version);
    work.items = 1;
    work.bytes = request.words * sizeof(std::uint64_t);
}

void handle_read_kary(Work &work, const protocol::ReadKary &request, protocol::ReplyHeader &) {
    OwnObject &own = finished_object(work, request.handle);
    with_key(own.object.key_bits(), [&]<typename Key>(Key) {
        const TransferBuffer &buffer = work.connection.buffer;
        check(own.object.get<Key>()->read(*work.stream, request.first, request.count,
                                          buffer.part<Key>(request.keys_offset, request.count),
                                          buffer.part<Tid>(request.tids_offset, request.count)));
        work.bytes = request.count * (sizeof(Key) + sizeof(Tid));
    });
    work.items = request.count;
}

namespace {

template <typename Key>
std::vector<const KaryArray<Key> *> arrays_here(const RunSet &runs, Work &work) {
    std::vector<const KaryArray<Key> *> arrays;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs.is_here(i)) {
            arrays.push_back(&runs.kary<Key>(i));
            work.items += arrays.back()->entries();
        }
    }
    return arrays;
}

// Returns the live entries of the arrays, which are the work's engine's.
template <typename Key>
std::unique_ptr<KaryArray<Key>> merge_arrays(Work &work, const std::vector<const KaryArray<Key> *> &arrays) {
    Kary<Key> &kary = gpu_engine::kary<Key>(*work.engine);
    std::uint64_t entries = 0;
    for (const KaryArray<Key> *array : arrays) {
        entries += array->entries();
    }
    // Makes room for what merging takes. Not having it all isn't fatal, so the result doesn't matter.
    static_cast<void>(work.server().mirrors().make_room(work.id, work.engine->memory(),
                                                        2 * kary.array_bytes(entries), work.purpose));
    std::unique_ptr<KaryArray<Key>> merged;
    check(with_room(work, [&] { return kary.merge(*work.stream, arrays.data(), arrays.size(), &merged); }));
    return merged;
}

void give_merged(Work &work, AnyObject object, protocol::HandleReply &reply) {
    OwnObject own;
    own.engine = work.engine_name;
    own.held_by = work.id;
    own.object = std::move(object);
    describe(own.object, reply);
    work.bytes = reply.bytes;
    reply.handle = add_own_object(work, std::move(own));
}

std::size_t part_with_most_entries(Spread &spread) {
    std::size_t most = 0;
    std::uint64_t greatest = 0;
    for (std::size_t part = 0; part < spread.size(); ++part) {
        std::uint64_t entries = 0;
        for (std::size_t i = 0; i < spread.runs().size(); ++i) {
            entries += spread.runs().entries_on(i, spread.work(part).id);
        }
        if (entries > greatest) {
            most = part;
            greatest = entries;
        }
    }
    return most;
}

}  // namespace

void handle_merge_kary(Work &work, const protocol::MergeKary &request, protocol::HandleReply &reply) {
    const RunSet runs(work, request.run, request.runs, request.key_bits, reply.header);
    if (!runs.complete()) {
        return;
    }
    with_key(request.key_bits, [&]<typename Key>(Key) {
        give_merged(work, AnyObject(merge_arrays(work, arrays_here<Key>(runs, work))), reply);
    });
}

// Has each engine merge its own arrays, and the one that has most entries merge the results.
void spread_merge_kary(Spread &spread, const protocol::MergeKary &request, protocol::HandleReply &reply) {
    with_key(request.key_bits, [&]<typename Key>(Key) {
        const std::size_t last = part_with_most_entries(spread);
        std::vector<MovedEntries<Key>> moved(spread.size());
        const auto arrays_of = [&](Work &work) {
            const RunSet runs(work, request.run, request.runs, request.key_bits, reply.header);
            return arrays_here<Key>(runs, work);
        };
        spread.run([&](std::size_t part, Work &work) {
            if (part != last) {
                moved[part].read(work, *merge_arrays(work, arrays_of(work)));
            }
        });
        spread.run_one(last, [&](Work &work) {
            std::vector<const KaryArray<Key> *> arrays = arrays_of(work);
            std::vector<std::unique_ptr<KaryArray<Key>>> loaded;
            for (std::size_t part = 0; part < spread.size(); ++part) {
                if (part != last) {
                    loaded.push_back(moved[part].load(work));
                    moved[part].forget();
                    arrays.push_back(loaded.back().get());
                }
            }
            give_merged(work, AnyObject(merge_arrays(work, arrays)), reply);
            spread.whole().bytes = work.bytes;
        });
        for (std::size_t part = 0; part < spread.size(); ++part) {
            spread.whole().items += spread.work(part).items;
        }
    });
}

}  // namespace gpu_engine::server
