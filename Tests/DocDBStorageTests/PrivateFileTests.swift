import Dispatch
import DocDBCore
import DocDBStorage
import Foundation
import Testing

@Suite("Files beside a store")
struct PrivateFileTests {
    private let place = TemporaryStore("private-file")
    private var path: String { place.directory + "/ledger" }

    private func append(_ line: String) throws { try PrivateFile.append(line: Array(line.utf8), to: path) }
    private func lines() throws -> [String] {
        try PrivateFile.lines(of: path, byteLimit: 1 << 20).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "A line that was not written to its end is no line, and the next one does not join it",
        arguments: ["", "o", "two", String(repeating: "x", count: 10_000)])
    func unfinished(_ rest: String) throws {
        try append("one")
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(rest.utf8))
        try handle.close()
        #expect(try lines() == ["one"])
        try append("three")
        #expect(try lines() == ["one", "three"])
        #expect(FileManager.default.contents(atPath: path) == Data("one\nthree\n".utf8))
    }

    @Test("A file of which not even the first line was finished begins anew")
    func unfinishedFirst() throws {
        try Data("on".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try lines().isEmpty)
        try append("two")
        #expect(try lines() == ["two"])
    }

    @Test("Lines that are appended at once are all there, and whole")
    func concurrent() throws {
        let path = path
        DispatchQueue.concurrentPerform(iterations: 40) { number in
            let line = Array(repeating: UInt8(ascii: "a") + UInt8(number % 26), count: 500 + number)
            try? PrivateFile.append(line: line, to: path)
        }
        let found = try PrivateFile.lines(of: path, byteLimit: 1 << 20)
        #expect(found.map(\.count).sorted() == Array(500..<540))
        #expect(found.allSatisfy { Set($0).count == 1 })
    }

    @Test("A file is replaced as a whole, for this user alone, and what an earlier attempt left is no hindrance")
    func replacing() throws {
        try Data("left".utf8).write(to: URL(fileURLWithPath: path + ".new"))
        try PrivateFile.replace(path, with: [1, 2, 3])
        try PrivateFile.replace(path, with: [4])
        #expect(try PrivateFile.content(of: path, byteLimit: 1) == [4])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory) == ["ledger"])
        #expect(throws: DocDBError.self) { try PrivateFile.content(of: path, byteLimit: 0) }
        try PrivateFile.remove(path)
        try PrivateFile.remove(path)
        #expect(try PrivateFile.content(of: path, byteLimit: 1) == nil)
    }
}
