import DocDBCore

extension FuzzTarget {
    /// The bytes of a document's body.
    static let body = FuzzTarget(
        name: "body", words: [],
        seeds: {
            let names = someNames()
            return try jsonSeeds.map { text in
                var transcoder = JSONTranscoder()
                var body = ByteBuffer()
                var id = ByteBuffer()
                try Array(text.utf8).withUnsafeBytes {
                    try transcoder.transcode($0, names: names, body: &body, id: &id)
                }
                return body.array
            } + [[0xA1, 0x00, 0x43, 1, 2, 3], [0xA1, 0x00, 0xFB, 0x3F, 0xB9, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9A]]
        },
        run: { bytes in try withBlock(bytes) { try runBody($0, bytes) } })

    static let jsonSeeds = [
        #"{"_id":"1","a":1,"b":-2.5,"c":[true,false,null],"make":{"model":"Ä\n\u20ac","year":1991}}"#,
        #"{"a":9223372036854775807,"b":-9223372036854775808,"c":1e308,"new name":[[[]],{}],"x":"\ud83d\ude00"}"#,
        #" { "_id" : {"k":[1,2]} , "longer than thirty-two bytes, so not interned" : 0.1 } "#, "{}",
        #"{"a":{"b":{"c":{"a":{"b":{"c":[[[[{"a":0}]]]]}}}}},"b":1E-5,"c":-0,"tags":-0.0}"#,
    ]

    private static func runBody(_ block: UnsafeRawBufferPointer, _ bytes: [UInt8]) throws {
        let names = someNames()
        let value = try decoded { try Value.decode(block, names: names) }
        let isValid = try decoded { try CBOR.validate(block, internedKeyCount: names.count) } != nil
        var writer = JSONWriter()
        var json = ByteBuffer()
        let isWritten = try decoded { try writer.append(value: block, names: names, to: &json) } != nil
        for isDescending in [false, true] {
            var key = ByteBuffer()
            var cursor = ByteCursor(block)
            _ = try decoded {
                try OrderEncoding.append(cborValue: &cursor, names: names, descending: isDescending, to: &key)
            }
        }
        guard isValid else { return }
        guard let value else { throw FuzzFailure(description: "a valid value does not decode") }
        try require(isWritten, "a valid value is not written as JSON")
        var again = ByteBuffer()
        try value.appendCBOR(names: names, interning: false, to: &again)
        var cursor = ByteCursor(block)
        if try !isSpeltOddly(&cursor, names) {
            try require(again.array == bytes, "a valid value is encoded otherwise")
        }
        try transcode(block, names)
    }

    /// Spells a valid value with the names of another table, and back.
    private static func transcode(_ block: UnsafeRawBufferPointer, _ names: FieldNames) throws {
        let others = FieldNames()
        guard let there = try decoded({ try CBORTranscoder(from: names, to: others).transcodedValue(block) }) else {
            // One name as a number and as text.
            return
        }
        try withBlock(there) { there in
            try require(
                try decoded { try CBOR.validate(there, internedKeyCount: others.count) } != nil,
                "a transcoded value is not valid")
            guard let back = try decoded({ try CBORTranscoder(from: others, to: names).transcodedValue(there) }) else {
                throw FuzzFailure(description: "a transcoded value is not transcoded back")
            }
            try withBlock(back) { back in
                let spelt = try decoded { try CBORTranscoder(from: names, to: nil).transcodedValue(block) }
                let again = try decoded { try CBORTranscoder(from: names, to: nil).transcodedValue(back) }
                try require(spelt != nil && spelt == again, "a value transcoded there and back is another")
            }
        }
    }

    /// Tells whether a name is spelt out though it has a number, or two names are one to a Swift dictionary: such a value
    /// is encoded otherwise than it came.
    private static func isSpeltOddly(_ cursor: inout ByteCursor, _ names: FieldNames) throws -> Bool {
        var isOdd = false
        switch try cursor.readCBORItem() {
        case .array(let count):
            for _ in 0..<count where try isSpeltOddly(&cursor, names) { isOdd = true }
        case .map(let count):
            var known: Set<String> = []
            for _ in 0..<count {
                var probe = cursor
                let isText = try probe.readCBORHead().major == CBOR.Major.text
                let name = try cursor.readCBORKey(names: names)
                if isText && names.number(of: name) != nil { isOdd = true }
                if !known.insert(String(decoding: name, as: UTF8.self)).inserted { isOdd = true }
                if try isSpeltOddly(&cursor, names) { isOdd = true }
            }
        default: break
        }
        return isOdd
    }

    // MARK: JSON

    /// The text of one document.
    static let json = FuzzTarget(
        name: "json",
        words: ["\"_id\":", "\\u0000", "\\ud83d\\ude00", "1e308", "-0.0", "null", "true", "[[[[", "\\\""],
        seeds: { jsonSeeds.map { Array($0.utf8) } },
        run: { bytes in try withBlock(bytes) { try runJSON($0) } })

    private static func runJSON(_ text: UnsafeRawBufferPointer) throws {
        let names = FieldNames()
        let codes: [DocDBError.Code] = [.invalidJSON, .invalidDocumentID, .documentTooDeep, .documentTooLarge]
        var transcoder = JSONTranscoder()
        var body = ByteBuffer()
        var id = ByteBuffer()
        guard try accepted(codes, { try transcoder.transcode(text, names: names, body: &body, id: &id) }) != nil else {
            try require(body.count == 0 && id.count == 0, "a refused text leaves bytes behind")
            return
        }
        try require(
            try decoded { try CBOR.validate(body.bytes, internedKeyCount: names.count) } != nil, "the body is not valid"
        )
        if id.count > 0 {
            try require((try? DocumentID(canonicalCBOR: id.bytes)) != nil, "the id is not valid")
        }
        var writer = JSONWriter()
        var printed = ByteBuffer()
        guard try decoded({ try writer.append(body: body.bytes, id: id.bytes, names: names, to: &printed) }) != nil
        else {
            throw FuzzFailure(description: "a document is not written as JSON")
        }
        var secondBody = ByteBuffer()
        var secondID = ByteBuffer()
        try withBlock(printed.array) { printed in
            do { try transcoder.transcode(printed, names: names, body: &secondBody, id: &secondID) } catch {
                throw FuzzFailure(description: "what is written does not read: \(error)")
            }
        }
        try require(
            secondBody.array == body.array && secondID.array == id.array, "what is written reads as another document")
        var value = ByteBuffer()
        try require(
            (try? transcoder.transcodeValue(text, names: nil, to: &value)) != nil, "a document is no JSON value")
    }
}
