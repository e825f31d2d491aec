#include "text/inverter.h"

#include "sort.h"
#include "temporary_file.h"

namespace pg_gpu::text {

static constexpr size_t kBlockBytes = 256 * 1024;
static constexpr uint32 kFirstTableSize = 4096;
static constexpr uint32 kFirstPiece = 8;
static constexpr uint32 kLargestPiece = 8192;

void begin_inverter(Inverter *inverter, Relation index, size_t limit, SharedFileSet *shared,
                    int participant) {
    *inverter = {};
    inverter->index = index;
    inverter->limit = limit;
    inverter->shared = shared;
    inverter->participant = participant;
    inverter->context =
        AllocSetContextCreate(CurrentMemoryContext, "gpu_text inversion", ALLOCSET_DEFAULT_SIZES);
}

static void *take_memory(Inverter *inverter, size_t bytes) {
    bytes = MAXALIGN(bytes);
    if (bytes > inverter->block_left) {
        const size_t room = Max(bytes, Min(kBlockBytes, inverter->limit / 16));
        inverter->block = static_cast<char *>(MemoryContextAlloc(inverter->context, room));
        inverter->block_left = room;
        inverter->used += room;
    }
    void *taken = inverter->block;
    inverter->block += bytes;
    inverter->block_left -= bytes;
    return taken;
}

static void resize_table(Inverter *inverter, uint32 size) {
    Term **table = static_cast<Term **>(MemoryContextAllocExtended(inverter->context, size * sizeof(Term *),
                                                                   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO));
    for (uint32 i = 0; i < inverter->table_size; i++) {
        Term *term = inverter->table[i];
        if (term == nullptr)
            continue;
        uint32 slot = term->hash & (size - 1);
        while (table[slot] != nullptr)
            slot = (slot + 1) & (size - 1);
        table[slot] = term;
    }
    if (inverter->table != nullptr) {
        pfree(inverter->table);
        inverter->used -= inverter->table_size * sizeof(Term *);
    }
    inverter->table = table;
    inverter->table_size = size;
    inverter->used += size * sizeof(Term *);
}

static PostingPiece *add_piece(Inverter *inverter, uint32 room) {
    auto *piece = static_cast<PostingPiece *>(take_memory(inverter, offsetof(PostingPiece, bytes) + room));
    piece->next = nullptr;
    piece->room = room;
    piece->filled = 0;
    return piece;
}

static Term *find_term(Inverter *inverter, const Lexeme &lexeme) {
    if (inverter->term_count * 2 >= inverter->table_size)
        resize_table(inverter, Max(inverter->table_size * 2, kFirstTableSize));
    const uint32 hash =
        hash_bytes(reinterpret_cast<const unsigned char *>(lexeme.bytes), static_cast<int>(lexeme.length));
    uint32 slot = hash & (inverter->table_size - 1);
    while (Term *term = inverter->table[slot]) {
        if (term->hash == hash && term->length == lexeme.length &&
            memcmp(term->lexeme, lexeme.bytes, lexeme.length) == 0)
            return term;
        slot = (slot + 1) & (inverter->table_size - 1);
    }
    auto *term = static_cast<Term *>(take_memory(inverter, offsetof(Term, lexeme) + lexeme.length));
    *term = {};
    term->hash = hash;
    term->length = lexeme.length;
    memcpy(term->lexeme, lexeme.bytes, lexeme.length);
    term->first = term->current = add_piece(inverter, kFirstPiece);
    inverter->table[slot] = term;
    inverter->term_count++;
    return term;
}

void invert_lexeme(Inverter *inverter, const Lexeme &lexeme, uint32 ordinal, const uint8 *positions,
                   uint32 position_bytes) {
    Term *term = find_term(inverter, lexeme);
    uint8 bytes[kMaxPostingBytes];
    uint32 count = write_varint(bytes, term->frequency == 0 ? ordinal : ordinal - term->last - 1);
    count += write_varint(bytes + count, lexeme.frequency);
    PostingPiece *piece = term->current;
    if (piece->filled + count + position_bytes > piece->room) {
        piece->next = add_piece(inverter, Max(Min(piece->room * 2, kLargestPiece), count + position_bytes));
        piece = term->current = piece->next;
    }
    memcpy(piece->bytes + piece->filled, bytes, count);
    if (position_bytes > 0)
        memcpy(piece->bytes + piece->filled + count, positions, position_bytes);
    count += position_bytes;
    piece->filled += count;
    term->bytes += count;
    term->last = ordinal;
    term->frequency++;
}

static Term **sort_terms(Inverter *inverter) {
    auto **terms = allocate<Term *>(uint64{inverter->term_count} + 1);
    uint32 count = 0;
    for (uint32 i = 0; i < inverter->table_size; i++)
        if (inverter->table[i] != nullptr)
            terms[count++] = inverter->table[i];
    sort_interruptibly(terms, terms + count, [](const Term *a, const Term *b) {
        return compare_lexemes(a->lexeme, a->length, b->lexeme, b->length) < 0;
    });
    return terms;
}

// The beginning of a lexeme's entry in a file; lexeme and list follow.
struct TermHead {
    uint64 list_bytes;
    uint64 lexeme_bytes;
};

static constexpr size_t kFileNameLength = 64;

static void name_file(char *name, int participant, int number) {
    snprintf(name, kFileNameLength, "lists.%d.%d", participant, number);
}

static BufFile *create_file(const Inverter *inverter) {
    if (inverter->shared == nullptr)
        return BufFileCreateTemp(false);
    char name[kFileNameLength];
    name_file(name, inverter->participant, inverter->file_count);
    return BufFileCreateFileSet(&inverter->shared->fs, name);
}

static void spill(Inverter *inverter) {
    Term **terms = sort_terms(inverter);
    BufFile *file = create_file(inverter);
    BufFileWrite(file, &inverter->term_count, sizeof(inverter->term_count));
    for (uint32 i = 0; i < inverter->term_count; i++) {
        TermHead head = {terms[i]->bytes, terms[i]->length};
        BufFileWrite(file, &head, sizeof(head));
        BufFileWrite(file, terms[i]->lexeme, terms[i]->length);
        for (PostingPiece *piece = terms[i]->first; piece != nullptr; piece = piece->next)
            BufFileWrite(file, piece->bytes, piece->filled);
        if (i % 1024 == 0)
            CHECK_FOR_INTERRUPTS();
    }
    pfree(terms);
    if (inverter->file_count % 16 == 0)
        inverter->files = inverter->files == nullptr ? allocate<BufFile *>(16)
                                                     : reallocate(inverter->files, inverter->file_count + 16);
    inverter->files[inverter->file_count++] = file;
    MemoryContextReset(inverter->context);
    inverter->table = nullptr;
    inverter->table_size = 0;
    inverter->term_count = 0;
    inverter->block = nullptr;
    inverter->block_left = 0;
    inverter->used = 0;
}

void spill_if_full(Inverter *inverter, size_t elsewhere) {
    const size_t left = inverter->limit - Min(elsewhere, inverter->limit / 4 * 3);
    // Sorting takes one more pointer for each term.
    if (inverter->used - inverter->block_left + inverter->term_count * sizeof(Term *) >= left)
        spill(inverter);
}

void hand_over_lists(Inverter *inverter) {
    if (inverter->term_count > 0)
        spill(inverter);
    for (int i = 0; i < inverter->file_count; i++) {
        BufFileExportFileSet(inverter->files[i]);
        BufFileClose(inverter->files[i]);
    }
}

bool next_term(TermSource *source) {
    if (source->left == 0)
        return false;
    source->left--;
    if (source->file != nullptr) {
        TermHead head;
        read_file(source->file, &head, sizeof(head), source->index);
        source->length = static_cast<uint32>(head.lexeme_bytes);
        source->bytes = head.list_bytes;
        read_file(source->file, source->lexeme, source->length, source->index);
    } else {
        source->terms++;
        const Term *term = *source->terms;
        source->length = term->length;
        source->bytes = term->bytes;
        source->piece = term->first;
        source->piece_at = 0;
        memcpy(source->lexeme, term->lexeme, term->length);
    }
    return true;
}

uint32 read_postings(TermSource *source, uint8 *out, uint32 room) {
    const auto wanted = static_cast<uint32>(Min(source->bytes, uint64{room}));
    source->bytes -= wanted;
    if (source->file != nullptr) {
        if (wanted > 0)
            read_file(source->file, out, wanted, source->index);
        return wanted;
    }
    for (uint32 done = 0; done < wanted;) {
        if (source->piece_at == source->piece->filled) {
            source->piece = source->piece->next;
            source->piece_at = 0;
        }
        const uint32 part = Min(wanted - done, source->piece->filled - source->piece_at);
        memcpy(out + done, source->piece->bytes + source->piece_at, part);
        source->piece_at += part;
        done += part;
    }
    return wanted;
}

static void add_file_source(TermSource *source, Relation index, int participant, int number, BufFile *file) {
    source->index = index;
    source->participant = participant;
    source->number = number;
    source->file = file;
    read_file(file, &source->left, sizeof(source->left), index);
}

TermSource *open_sources(Inverter *inverter, SharedFileSet *shared, const uint64 *handed_over,
                         int participants, int *count) {
    uint64 room = static_cast<uint64>(inverter->file_count) + 1;
    for (int participant = 1; participant < participants; participant++)
        room += handed_over[participant];
    auto *sources = allocate_zeroed<TermSource>(room);
    *count = 0;
    for (int i = 0; i < inverter->file_count; i++) {
        rewind_file(inverter->files[i], inverter->index);
        add_file_source(&sources[(*count)++], inverter->index, 0, i, inverter->files[i]);
    }
    if (inverter->term_count > 0) {
        TermSource *source = &sources[(*count)++];
        source->number = inverter->file_count;
        source->terms = sort_terms(inverter) - 1;
        source->left = inverter->term_count;
    }
    for (int participant = 1; participant < participants; participant++) {
        for (int i = 0; i < static_cast<int>(handed_over[participant]); i++) {
            char name[kFileNameLength];
            name_file(name, participant, i);
            add_file_source(&sources[(*count)++], inverter->index, participant, i,
                            BufFileOpenFileSet(&shared->fs, name, O_RDONLY, false));
        }
    }
    for (int i = 0; i < *count; i++)
        next_term(&sources[i]);
    return sources;
}

void close_sources(TermSource *sources, int count) {
    for (int i = 0; i < count; i++)
        if (sources[i].file != nullptr)
            BufFileClose(sources[i].file);
}

}  // namespace pg_gpu::text
