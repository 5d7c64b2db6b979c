extension CommandRule {
    private static let store = OperandRule("STORE", "The store's directory, such as cars.docdb.")
    private static let collection = OperandRule("COLLECTION", "The collection's name.")
    private static let documentID = OperandRule(
        "ID", "The document's _id: a number or other JSON, or plain text, which is taken as a string.")

    /// All commands, in the order help lists them.
    package static let all: [CommandRule] = [
        importRule, exportRule, findRule, getRule, watchRule, collectionsRule, statRule, logRule, historyRule,
        indexCreateRule, indexDropRule, indexListRule, peersRule, verifyRule, salvageRule,
        compactRule,
    ]

    private static let importRule = CommandRule(
        name: .import, summary: "Write the documents of a JSON or JSON Lines file into a collection.",
        operands: [
            store, collection, OperandRule("FILE", "The file to read, or - for standard input."),
        ],
        options: [
            OptionRule(
                "id-field", .text(placeholder: "F"),
                "Take each document's _id from its top-level field F; the field itself stays."),
            OptionRule(
                "batch", .number(placeholder: "N", 1...1_000_000),
                "Documents committed together (default \(ImportSettings.defaultBatchCount))."),
        ],
        details: [
            "Creates the store where there is none. FILE holds one JSON array of objects, or objects one after the other, "
                + "usually one a line; which of the two is found out from the first character.",
            "A document whose _id exists already is merged into the stored one, field by field, so importing a file again "
                + "changes nothing. A document without _id gets a new one each time; --id-field avoids that.",
            "At a record that is no valid document the import stops and names its line and column. The documents before "
                + "it are kept, and how many they are is said. Ctrl-C ends the import after the batch at work.",
        ],
        examples: [
            .init(
                commandLine: "docdb-inspect import cars.docdb cars cars.json --id-field vin",
                meaning: "imports the cars, each under its vin")
        ])

    private static let exportRule = CommandRule(
        name: .export, summary: "Print every document of a collection as JSON Lines.",
        operands: [store, collection], options: [],
        details: [
            "One document a line, in _id order, _id first and the other keys sorted. What import read, export prints "
                + "again; the output depends on the documents alone."
        ],
        examples: [
            .init(
                commandLine: "docdb-inspect export cars.docdb cars > cars.jsonl", meaning: "copies the collection out")
        ])

    private static let findRule = CommandRule(
        name: .find, summary: "Print the documents that match a predicate.",
        operands: [
            store, collection,
            OperandRule("PREDICATE", .optional, "Such as \"state == 'for sale' && price < 20000\"; absent: all."),
        ],
        options: [
            OptionRule(
                "arg", .text(placeholder: "name=json"), repeats: true,
                "The value of $name in the predicate, as JSON: --arg 'make=\"toyota\"' --arg top=9500."),
            OptionRule(
                "sort", .text(placeholder: "path[:desc]"), repeats: true,
                "Order by this path, then by the next --sort, then by _id."),
            OptionRule("limit", .number(placeholder: "N", 0...Int64.max), "Print at most N documents."),
            OptionRule("offset", .number(placeholder: "N", 0...Int64.max), "Leave out the first N documents."),
            OptionRule(
                "format", .choice(OutputFormat.allCases.map(\.rawValue)),
                "How to print (default: table on a terminal, jsonl elsewhere)."),
            OptionRule("count", .flag, "Print only how many documents match."),
            OptionRule("explain", .flag, "Print how the query would be run, and do not run it."),
        ],
        details: [
            "Documents come in _id order unless --sort is given.",
            "table and csv show one column for each top-level field of the result; the query runs twice, once to learn "
                + "the columns. Nested values are shown as JSON. In csv a missing field is an empty cell, null is the "
                + "word null and an empty string is \"\".",
        ],
        examples: [
            .init(
                commandLine: "docdb-inspect find cars.docdb cars \"state == 'for sale'\" --sort price:desc --limit 10",
                meaning: "prints the ten dearest cars for sale"),
            .init(
                commandLine: "docdb-inspect find cars.docdb cars 'make == $make' --arg 'make=\"toyota\"' --count",
                meaning: "counts the toyotas"),
        ])

    private static let getRule = CommandRule(
        name: .get, summary: "Print one document.",
        operands: [store, collection, documentID], options: [],
        details: [
            "An ID that reads as a number, object, array, true, false or quoted string is taken as that JSON value; where "
                + "no document has it, and for any other text, as a string. Quote a string twice to be exact: '\"42\"'."
        ],
        examples: [.init(commandLine: "docdb-inspect get cars.docdb cars car-000001", meaning: "prints that car")])

    private static let watchRule = CommandRule(
        name: .watch, summary: "Print the documents that match a predicate, then each change of them, until Ctrl-C.",
        operands: [
            store, collection,
            OperandRule("PREDICATE", .optional, "Such as \"state == 'for sale' && price < 20000\"; absent: all."),
        ],
        options: [
            OptionRule(
                "arg", .text(placeholder: "name=json"), repeats: true, "The value of $name in the predicate, as JSON."),
            OptionRule(
                "sort", .text(placeholder: "path[:desc]"), repeats: true,
                "Order by this path, then by the next --sort, then by _id."),
            OptionRule("limit", .number(placeholder: "N", 0...Int64.max), "Watch the first N documents only."),
            OptionRule(
                "format", .choice(OutputFormat.allCases.map(\.rawValue)),
                "How to print (default: table on a terminal, jsonl elsewhere)."),
        ],
        details: [
            "Works while another process writes the store. A row has the event (initial, insert, update, move, delete), the "
                + "index in the results (for delete in those before), for move also the index before, and the document.",
            "Commits that follow one another quickly are shown together, and what changes nothing of the results is not.",
        ],
        examples: [
            .init(
                commandLine: "docdb-inspect watch cars.docdb cars \"state == 'for sale'\" --sort price --limit 10",
                meaning: "prints the ten cheapest cars for sale, and then whatever changes among them")
        ])

    private static let collectionsRule = CommandRule(
        name: .collections, summary: "List the collections and how many documents each holds.",
        operands: [store], options: [], details: [],
        examples: [.init(commandLine: "docdb-inspect collections cars.docdb", meaning: "lists them by name")])

    private static let statRule = CommandRule(
        name: .stat, summary: "Print sizes: documents, tombstones, change log, indexes, bytes.",
        operands: [store], options: [], details: [],
        examples: [.init(commandLine: "docdb-inspect stat cars.docdb", meaning: "prints the store's figures")])

    private static let logRule = CommandRule(
        name: .log, summary: "Print the change log, oldest first.",
        operands: [store],
        options: [
            OptionRule("since", .number(placeholder: "SEQ", 0...Int64.max), "Only records after this sequence number."),
            OptionRule("collection", .text(placeholder: "C"), "Only changes of this collection."),
            OptionRule("limit", .number(placeholder: "N", 0...Int64.max), "Print at most N records."),
        ],
        details: [
            "One paragraph a commit: its number, time, kind (local, remote or eviction) and actors, then a line for each "
                + "document: what happened to it, which paths were written, and the values that stood there before.",
            "The log reaches back as far as the store retains it.",
        ],
        examples: [
            .init(
                commandLine: "docdb-inspect log cars.docdb --collection cars --limit 20",
                meaning: "prints the first 20 retained commits that touched cars")
        ])

    private static let historyRule = CommandRule(
        name: .history, summary: "Print the retained versions of one document.",
        operands: [store, collection, documentID], options: [],
        details: [
            "Newest first: the number, time and actors of the commit, the paths that it wrote, and the document as it "
                + "was from then on. One JSON object a line unless on a terminal. The ID is read as get reads it."
        ],
        examples: [
            .init(commandLine: "docdb-inspect history cars.docdb cars car-000001", meaning: "prints its versions")
        ])

    private static let indexCreateRule = CommandRule(
        name: .indexCreate, summary: "Create a secondary index over one or more paths.",
        operands: [store, collection, OperandRule("PATH[:desc]", .oneOrMore, "The paths, the most selective first.")],
        options: [], details: [],
        examples: [
            .init(
                commandLine: "docdb-inspect index create cars.docdb cars state price:desc",
                meaning: "indexes state, and price downwards within it")
        ])

    private static let indexDropRule = CommandRule(
        name: .indexDrop, summary: "Drop the index over just these paths.",
        operands: [store, collection, OperandRule("PATH[:desc]", .oneOrMore, "The paths as index list prints them.")],
        options: [], details: [],
        examples: [
            .init(commandLine: "docdb-inspect index drop cars.docdb cars state price:desc", meaning: "drops that index")
        ])

    private static let indexListRule = CommandRule(
        name: .indexList, summary: "List the indexes of a collection.",
        operands: [store, collection], options: [], details: [],
        examples: [.init(commandLine: "docdb-inspect index list cars.docdb cars", meaning: "lists the indexes of cars")]
    )

    private static let peersRule = CommandRule(
        name: .peers, summary: "List the peers that the store has met, and how far each has come.",
        operands: [store], options: [],
        details: [
            "For each peer: the id of its store and its name, whether it is a keeper, when it was last connected, which "
                + "collections it asks for, where the pull from it resumes (cursor), how many documents it has told, up to "
                + "which commit of this store it has acknowledged all, how many documents that concern it have changed "
                + "since, and how many are refused on either side or wait here because of their times.",
            "Works while another process writes the store.",
        ],
        examples: [.init(commandLine: "docdb-inspect peers cars.docdb", meaning: "lists the peers of the store")])

    private static let verifyRule = CommandRule(
        name: .verify, summary: "Check the whole store; exit 1 and a list where something is wrong.",
        operands: [store], options: [],
        details: [
            "Checks the database file, the checksums of the log's blocks, each document's state against its body, the "
                + "indexes against the documents, and that unwinding the log reaches its recorded start. Reads "
                + "everything, changes nothing."
        ],
        examples: [.init(commandLine: "docdb-inspect verify cars.docdb", meaning: "prints ok for a sound store")])

    private static let salvageRule = CommandRule(
        name: .salvage, summary: "Write every document that can be read from a damaged store to a new one.",
        operands: [store, OperandRule("OUT", "The new store's directory, which must not exist yet.")], options: [],
        details: [
            "Reads around damaged pages, rows, log blocks and catalog rows, and never writes to STORE. Prints for each "
                + "collection how many documents were written and which are lost, as far as their ids are known. Exits with 0 "
                + "where nothing is lost, with 1 where something is or may be.",
            "The new store has the same documents, deletions and indexes, and merges with the peers of the old one, from whom it "
                + "gets back what they hold of what is lost. It is a store of its own: it has a new id and actor, has "
                + "met no peers yet, and begins a new history.",
        ],
        examples: [
            .init(
                commandLine: "docdb-inspect salvage cars.docdb rescued.docdb",
                meaning: "writes what can be read to rescued.docdb")
        ])

    private static let compactRule = CommandRule(
        name: .compact, summary: "Give unused space of the store back to the file system.",
        operands: [store], options: [],
        details: ["Needs the store for itself, and free space of about the store's size while it works."],
        examples: [.init(commandLine: "docdb-inspect compact cars.docdb", meaning: "prints the bytes before and after")]
    )
}
