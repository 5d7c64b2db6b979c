import DocDBCore
import DocDBQuery

extension FuzzTarget {
    /// A predicate's text, a zero byte, and a document: JSON, or else the bytes of a body as they are.
    static let predicate = FuzzTarget(
        name: "predicate",
        words: [
            "&&", "||", "!", "==", "!=", "<=", ">=", " in ", " not in ", " between ", " and ", " or ", " like '%'",
            "contains(", "starts_with(", "ends_with(", "regex(", "exists(", "is_missing(", "length(", "sum(", "lower(",
            "upper(", "abs(", "type(", "[?", "[*]", "[-1]", "@", "null", "missing", "true", "x'00'", "_id", "1e3",
            "`a`",
            "(a+)+", "\\\\d", "{'a': 1}", "[1, 2]",
        ],
        seeds: {
            predicates.enumerated().map { index, text in
                Array(text.utf8) + [0] + Array(predicateDocuments[index % predicateDocuments.count].utf8)
            }
        },
        run: runPredicate)

    private static let predicates = [
        "make == 'Fiat' && year >= 1990", "a in [1, 2, 'x', null] || !(b like '%a_\\\\%')",
        "a[? b > 1 && c == 2].b == 3",
        "a[*] == 2 and b.c[-1] != `odd key`", "length(tags) > 1 && contains(tags, 'red')", "regex(a, '^(a|b)+c$')",
        "a between 1 and 2.5 or not (b in c)", "exists(a.b) && is_missing(c[0])",
        "_id.a == 1 && lower(model) == upper(a)",
        "a == {'x': [1, {'y': x'00ff'}]} || sum(tags[*]) < abs(-1)", "type(a) == 'string' && a starts_with 'F'",
        "(length(a) == 1) == true && !(!(a == missing))", "a ends_with 'x' || a contains b[*]",
    ]

    private static let predicateDocuments = [
        #"{"_id":"1","make":"Fiat","year":1991,"tags":["red","old"],"a":[{"b":3,"c":2}],"b":{"c":[1,2]}}"#,
        #"{"_id":{"a":1},"a":"abc","model":"X","b":"a","c":[1,"a",null]}"#,
        #"{"a":{"x":[1,{"y":0.5}]},"tags":[1,2.5,-3],"größe":true}"#, #"{}"#,
    ]

    private static func runPredicate(_ bytes: [UInt8]) throws {
        let parts = bytes.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
        guard let text = String(validating: parts[0], as: UTF8.self) else { return }
        guard let filter = try accepted([.invalidPredicate], { try Filter.parse(text) }) else { return }
        let printed = filter.description
        guard printed.utf8.count <= QueryLimits.textByteCount else { return }
        guard let again = try? Filter.parse(printed) else {
            throw FuzzFailure(description: "what is printed does not parse: \(printed)")
        }
        try require(again == filter, "what is printed means something else: \(printed)")
        try require(again.description == printed, "what is printed is printed otherwise: \(printed)")

        let names = FieldNames()
        let document = parts.count > 1 ? Array(parts[1]) : []
        var body = ByteBuffer()
        var id = ByteBuffer()
        var transcoder = JSONTranscoder()
        let isJSON =
            (try? document.withUnsafeBytes {
                try transcoder.transcode($0, names: names, body: &body, id: &id)
            }) != nil
        if id.count == 0 { id.appendCBOR(1 as Int64) }
        try withBlock(isJSON ? body.array : document) { body in
            try withBlock(id.array) { try evaluate(filter, again, names, body: body, id: $0, isSound: isJSON) }
        }
    }

    /// Compares what a filter, the same one printed and parsed, its negation and a standing predicate say.
    private static func evaluate(
        _ filter: Filter, _ again: Filter, _ names: FieldNames, body: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer, isSound: Bool
    ) throws {
        let steps = 100_000
        let evaluator = Evaluator(filter, names: names, stepCount: steps)
        let holds = evaluator.matches(body: body, id: id)
        let isStopped = evaluator.didExhaustLimits
        try require(!isSound || !evaluator.isDamaged, "a sound body is found damaged")
        try require(!holds || !isStopped && !evaluator.isDamaged, "a predicate holds that was not evaluated to its end")
        let second = Evaluator(again, names: names, stepCount: steps)
        try require(
            second.matches(body: body, id: id) == holds && second.didExhaustLimits == isStopped,
            "what is printed is evaluated otherwise")
        guard isSound, !isStopped else { return }
        let negation = Evaluator(filter.negated, names: names, stepCount: steps * 2)
        let isNegated = negation.matches(body: body, id: id)
        try require(negation.didExhaustLimits || isNegated != holds, "a predicate and its negation are both \(holds)")
        let matcher = QueryMatcher(names: names, stepCount: steps * 2)
        _ = matcher.add(collection: 1, filter: filter)
        var matches: [QueryMatcher.Match] = []
        matcher.match(collection: 1, before: nil, after: body, id: id, into: &matches)
        try require(matches.isEmpty != holds, "a standing predicate says \(!matches.isEmpty), a query \(holds)")
    }
}
