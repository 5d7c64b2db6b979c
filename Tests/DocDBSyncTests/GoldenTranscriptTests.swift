import DocDBCore
import DocDBSync
import Foundation
import SyncModel
import Testing

/// A session between two peers as this version speaks it, frame by frame, which later versions must understand.
@Suite("The golden transcript of a session")
struct GoldenTranscriptTests {
    /// What `Tests/Golden/wire-transcript.json` holds: frames in hexadecimal in the order in which they were sent.
    struct Transcript: Codable, Equatable {
        struct Frame: Codable, Equatable {
            var from: String
            var message: String
            var bytes: String
        }

        var frames: [Frame] = []
        /// The visible fields of each document at the end, the same on both sides.
        var documents: [String: [String: Int64]] = [:]
    }

    static let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Golden/wire-transcript.json")

    private static func name(_ frame: [UInt8]) throws -> String {
        guard let message = try MessageCodec.message(frame) else { return "unknown" }
        return String("\(message)".prefix { $0 != "(" })
    }

    /// Two peers that meet with documents on both sides, go on while they are connected, and meet again.
    private static func record() throws -> Transcript {
        let pair = SessionPair()
        var transcript = Transcript()
        var taken = [0, 0]
        func take() throws {
            for (index, side) in pair.sides.enumerated() {
                for frame in side.sent.dropFirst(taken[index]) {
                    transcript.frames.append(
                        .init(from: index == 0 ? "left" : "right", message: try name(frame), bytes: hexadecimal(frame)))
                }
                taken[index] = side.sent.count
            }
        }
        func run() throws {
            var isMoving = true
            while isMoving {
                isMoving = false
                try take()
                for index in pair.sides.indices where pair.deliver(to: index) { isMoving = true }
                for index in pair.sides.indices where !isMoving && !pair.sides[index].dirty.isEmpty {
                    pair.tellDirty(index)
                    isMoving = true
                }
            }
            try take()
        }
        for number in Int64(1)...5 { try pair.write(0, documentID(number), [.set("a", number)]) }
        for number in Int64(4)...8 { try pair.write(1, documentID(number), [.set("b", number * 10)]) }
        pair.connect()
        try run()
        try pair.write(0, documentID(1), [.set("a", 100), .increment("n", 2)])
        try pair.write(1, documentID(1), [.increment("n", 3)])
        try run()
        try pair.write(1, documentID(2), [.delete])
        try run()
        transcript.documents = documents(pair, 0)
        #expect(documents(pair, 1) == transcript.documents)
        return transcript
    }

    private static func documents(_ pair: SessionPair, _ index: Int) -> [String: [String: Int64]] {
        (Int64(1)...8).reduce(into: [:]) { result, number in
            if let fields = pair.fields(index, documentID(number)) { result["\(number)"] = fields }
        }
    }

    private static func golden() throws -> Transcript {
        try JSONDecoder().decode(Transcript.self, from: Data(contentsOf: file))
    }

    @Test("is what this version says, frame by frame")
    func unchanged() throws {
        let transcript = try Self.record()
        if ProcessInfo.processInfo.environment["DOCDB_MAKE_GOLDEN"] != nil {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
            try (encoder.encode(transcript) + Data("\n".utf8)).write(to: Self.file)
        }
        let golden = try Self.golden()
        #expect(transcript.frames.count == golden.frames.count)
        for (number, (frame, expected)) in zip(transcript.frames, golden.frames).enumerated() {
            #expect(frame == expected, "frame \(number)")
        }
        #expect(transcript.documents == golden.documents)
        let messages = Set(golden.frames.map(\.message))
        #expect(
            messages.isSuperset(of: [
                "hello", "proof", "interest", "begin", "documents", "end", "acknowledge", "commit",
            ]))
    }

    @Test("is read by this version: each frame decodes to what encodes to it again")
    func decodes() throws {
        for (number, frame) in try Self.golden().frames.enumerated() {
            let message = try #require(try MessageCodec.message(bytes(frame.bytes)), "frame \(number)")
            #expect(hexadecimal(MessageCodec.frame(message)) == frame.bytes, "frame \(number)")
        }
    }

    @Test(
        "leads a peer of this version, told one side of it, to the documents that it led to",
        arguments: ["left", "right"])
    func replays(side: String) throws {
        let golden = try Self.golden()
        // The peer under test wrote what its side wrote before they met.
        let pair = SessionPair()
        let index = side == "left" ? 1 : 0
        for number in Int64(1)...5 { try pair.write(0, documentID(number), [.set("a", number)]) }
        for number in Int64(4)...8 { try pair.write(1, documentID(number), [.set("b", number * 10)]) }
        for each in pair.sides.indices { pair.makeSession(each) }
        pair.tell(index, .opened(channelBinding: nil))
        for frame in golden.frames where frame.from == side {
            pair.tell(index, .received(bytes(frame.bytes)))
            pair.tell(index, .batchEnded)
        }
        #expect(pair.sides[index].closed == nil, "\(String(describing: pair.sides[index].closed))")
        let documents = Self.documents(pair, index)
        // What the other side wrote; of its own later writes the transcript does not tell it.
        for (id, fields) in golden.documents where id == (side == "left" ? "3" : "8") {
            #expect(documents[id] == fields)
        }
    }
}
