// gpu.fuzzy_query: a search query whose words stand for all words of an index that are written nearly alike.
#include <algorithm>

#include "functions/text_index.h"
#include "text/gpu_text.h"

extern "C" {
#include "utils/varlena.h"
}

PG_GPU_FUNCTION(pg_gpu_fuzzy_query);

using namespace pg_gpu;

namespace {

// A word becomes at most so many; the nearest ones stay, and of these the most frequent.
constexpr int kMaxAlike = 64;
constexpr int kMaxDistance = 2;
// Longer words are taken as they are.
constexpr int kMaxBytes = 255;
// UTF-8 takes at most four bytes a character.
constexpr int kMaxCharacterBytes = 4;

struct Alike {
    text::Lexeme lexeme;
    int distance;
    uint64 documents;
};

// A word of the query, and what has been found.
struct Word {
    const char *bytes;
    int length;
    Alike *alike;
    int count;
    int room;
};

struct Search {
    int distance;
    Word *words;
    int count;
    MemoryContext context;  // has what is found
};

}  // namespace

// ---- words of the index -----------------------------------------------------------------------------------

static void add_alike(const Search &search, Word *word, const text::Lexeme &lexeme, int distance,
                      uint64 documents) {
    MemoryContext caller = MemoryContextSwitchTo(search.context);
    if (word->count == word->room) {
        word->room = Max(word->room * 2, kMaxAlike);
        word->alike =
            word->alike == nullptr ? allocate<Alike>(word->room) : reallocate(word->alike, word->room);
    }
    text::Lexeme kept = lexeme;
    kept.bytes = pnstrdup(lexeme.bytes, lexeme.length);
    word->alike[word->count++] = {kept, distance, documents};
    MemoryContextSwitchTo(caller);
}

static void compare_with_words(const Search &search, const text::Lexeme &lexeme, uint64 documents) {
    const auto length = static_cast<int>(lexeme.length);
    for (int i = 0; i < search.count; i++) {
        Word *word = &search.words[i];
        if (word->length > kMaxBytes || abs(word->length - length) > search.distance * kMaxCharacterBytes)
            continue;
        const int distance = varstr_levenshtein_less_equal(word->bytes, word->length, lexeme.bytes, length, 1,
                                                           1, 1, search.distance, true);
        if (distance <= search.distance)
            add_alike(search, word, lexeme, distance, documents);
    }
}

static void look_in_tuples(const Search &search, const storage::Items &items) {
    text::for_each_tail_tuple(items, [&](const text::DocumentTuple *tail_tuple) {
        if (text::is_null(tail_tuple))
            return;
        text::TupleReader reader = text::begin_tuple(tail_tuple);
        while (text::next_lexeme(&reader))
            compare_with_words(search, reader.lexeme, 1);
    });
}

static void look_in_run(const Search &search, text::RunReader *reader) {
    auto *dictionary = allocate<text::DictionaryCursor>(1);
    uint32 looks = 0;
    for (begin_dictionary(dictionary, reader); !dictionary->end; next_entry(dictionary)) {
        if (++looks % 4096 == 0)
            CHECK_FOR_INTERRUPTS();
        compare_with_words(search, {dictionary->lexeme, dictionary->lexeme_length, 0}, dictionary->frequency);
    }
    pfree(dictionary);
}

static void look_in_index(Relation index, const Search &search) {
    auto *before = allocate<int>(search.count + 1);
    for (int i = 0; i < search.count; i++)
        before[i] = search.words[i].count;
    text::with_corpus(index, GetActiveSnapshot(), [&](text::Corpus *corpus) {
        // Words found in a view with a recycled page are dropped, since the next view finds them again.
        for (int i = 0; i < search.count; i++)
            search.words[i].count = before[i];
        for (int i = 0; i < corpus->raw_count; i++)
            look_in_tuples(search, corpus->raws[i]);
        for (int i = 0; i < corpus->run_count && !corpus->runs[i].stale; i++)
            look_in_run(search, &corpus->runs[i]);
    });
    pfree(before);
}

// ---- the query --------------------------------------------------------------------------------------------

// Adds up what several runs have of a word, and keeps the best.
static void choose_alike(Word *word) {
    std::sort(word->alike, word->alike + word->count, [](const Alike &a, const Alike &b) {
        return text::compare_lexemes(a.lexeme.bytes, a.lexeme.length, b.lexeme.bytes, b.lexeme.length) < 0;
    });
    int kept = 0;
    for (int i = 0; i < word->count; i++) {
        const Alike &next = word->alike[i];
        if (kept > 0 &&
            text::compare_lexemes(word->alike[kept - 1].lexeme.bytes, word->alike[kept - 1].lexeme.length,
                                  next.lexeme.bytes, next.lexeme.length) == 0)
            word->alike[kept - 1].documents += next.documents;
        else
            word->alike[kept++] = next;
    }
    // Those that are as good stay in their order, so that the query is the same each time.
    std::stable_sort(word->alike, word->alike + kept, [](const Alike &a, const Alike &b) {
        return a.distance != b.distance ? a.distance < b.distance : a.documents > b.documents;
    });
    word->count = Min(kept, kMaxAlike);
}

static void append_quoted(StringInfo text, const char *bytes, int length) {
    appendStringInfoString(text, text->len > 0 ? " | '" : "'");
    for (int i = 0; i < length; i++) {
        if (bytes[i] == '\'' || bytes[i] == '\\')
            appendStringInfoChar(text, bytes[i]);
        appendStringInfoChar(text, bytes[i]);
    }
    appendStringInfoChar(text, '\'');
}

// Makes the part of the query that stands for a word: the word itself, or any of those that are written
// alike.
static QTNode *alternatives(Word *word) {
    choose_alike(word);
    StringInfoData text;
    initStringInfo(&text);
    append_quoted(&text, word->bytes, word->length);
    for (int i = 0; i < word->count; i++)
        if (word->alike[i].distance > 0)
            append_quoted(&text, word->alike[i].lexeme.bytes, static_cast<int>(word->alike[i].lexeme.length));
    TSQuery query = DatumGetTSQuery(DirectFunctionCall1(tsqueryin, CStringGetDatum(text.data)));
    return QT2QTN(GETQUERY(query), GETOPERAND(query));
}

// A word that must not be there is meant as it is written, and so is a prefix.
static bool is_replaced(const QTNode *node) {
    return node->valnode->type == QI_VAL && !node->valnode->qoperand.prefix &&
           node->valnode->qoperand.weight == 0;
}

template <typename Visit>
static QTNode *replace_words(QTNode *node, Visit visit) {
    check_stack_depth();
    if (is_replaced(node))
        return visit(node);
    if (node->valnode->type == QI_OPR && node->valnode->qoperator.oper != OP_NOT)
        for (int i = 0; i < node->nchild; i++)
            node->child[i] = replace_words(node->child[i], visit);
    return node;
}

static TSQuery make_fuzzy(const functions::OpenIndex &open, TSQuery typed, int distance) {
    if (typed->size == 0)
        return typed;
    Search search = {distance, allocate_zeroed<Word>(typed->size), 0, CurrentMemoryContext};
    QTNode *root = QT2QTN(GETQUERY(typed), GETOPERAND(typed));
    root = replace_words(root, [&](QTNode *node) {
        search.words[search.count++] = {node->word, static_cast<int>(node->valnode->qoperand.length), nullptr,
                                        0, 0};
        return node;
    });
    functions::for_each_leaf(open, [&](Relation index) { look_in_index(index, search); });
    int next = 0;
    root = replace_words(root, [&](QTNode *) { return alternatives(&search.words[next++]); });
    return QTN2QT(root);
}

Datum pg_gpu_fuzzy_query(PG_FUNCTION_ARGS) {
    const int32 distance = PG_GETARG_INT32(2);
    if (distance < 1 || distance > kMaxDistance)
        ereport(ERROR,
                (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                 errmsg("edit distance %d is not between 1 and %d", distance, kMaxDistance),
                 errhint("Words further apart are hardly the same word; search for a prefix instead.")));
    const functions::OpenIndex open = functions::open_text_index(PG_GETARG_OID(0));
    TSQuery typed = functions::query_argument(fcinfo, open.index);
    TSQuery query = make_fuzzy(open, typed, distance);
    functions::close_index(open);
    PG_RETURN_TSQUERY(query);
}
