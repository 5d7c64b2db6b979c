import DocDBCore
import DocDBStorage
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Which actor writes after a store was copied, moved, restored or killed, and which incarnation its log then has.
@Suite("The actor and the incarnation of a store")
struct ActorTests {
    /// Writes once and tells who did and in which incarnation.
    static func write(_ store: Store) throws -> (actor: ActorID?, incarnations: [Incarnation]) {
        _ = try store.write { try $0.put(["_id": .int($0.sequence)]) }
        return (try store.lastActor(), try store.incarnations())
    }

    @Test("stay where a store is closed in order and opened again")
    func stay() throws {
        let place = TemporaryStore("actor")
        var store = try place.open()
        let first = try Self.write(store)
        for _ in 0..<5 {
            try store.close()
            store = try place.open()
            let next = try Self.write(store)
            #expect(next.actor == first.actor)
            #expect(next.incarnations == first.incarnations)
        }
        #expect(first.actor != nil)
        #expect(first.incarnations.count == 1 && first.incarnations[0].lastSequence == nil)
    }

    @Test("stay where nothing was written between")
    func stayWithoutWrites() throws {
        let place = TemporaryStore("actor")
        var store = try place.open()
        let first = try Self.write(store)
        for _ in 0..<3 {
            try store.close()
            store = try place.open()
            _ = try store.all()
        }
        #expect(try Self.write(store).actor == first.actor)
        #expect(try store.incarnations() == first.incarnations)
    }

    @Test("stay where the directory is moved")
    func stayWhenMoved() throws {
        let place = TemporaryStore("actor")
        let store = try place.open()
        let first = try Self.write(store)
        try store.close()
        let moved = place.directory + "/moved.docdb"
        try FileManager.default.moveItem(atPath: place.path, toPath: moved)
        let next = try Self.write(Store(path: moved))
        #expect(next.actor == first.actor)
        #expect(next.incarnations == first.incarnations)
    }

    @Test("are new in a copy of the directory, and stay in the original")
    func newInCopy() throws {
        let place = TemporaryStore("actor")
        var store = try place.open()
        let first = try Self.write(store)
        try store.close()
        let copy = try place.copy()
        let copied = try Self.write(copy.open())
        #expect(copied.actor != first.actor)
        #expect(copied.incarnations.count == 2)
        #expect(copied.incarnations.first == Incarnation(id: first.incarnations[0].id, lastSequence: 1))
        store = try place.open()
        let next = try Self.write(store)
        #expect(next.actor == first.actor)
        #expect(next.incarnations == first.incarnations)
        // The copy, closed in order, keeps what it took.
        #expect(try Self.write(copy.open()).actor == copied.actor)
    }

    @Test("are new in a copy that was made while the store was being written to")
    func newInLiveCopy() throws {
        let place = TemporaryStore("actor")
        let store = try place.open()
        let first = try Self.write(store)
        let copy = try place.copy()
        let copied = try Self.write(copy.open())
        #expect(copied.actor != first.actor)
        #expect(Set(copied.incarnations.map(\.id)).count == 2)
    }

    @Test("are new where an older copy is put back in place of the store", arguments: [false, true])
    func newWhenRestored(isInPlace: Bool) throws {
        let place = TemporaryStore("actor")
        var store = try place.open()
        let first = try Self.write(store)
        try store.close()
        let copy = try place.copy()
        store = try place.open()
        // This commit is lost by the restoration: its actor must not go on as if it held it.
        #expect(try Self.write(store).actor == first.actor)
        try store.close()
        if isInPlace {
            // As `cp -r copy/. store`: the files stay, their contents are written over.
            for name in try FileManager.default.contentsOfDirectory(atPath: copy.path) {
                let bytes = try #require(FileManager.default.contents(atPath: copy.path + "/" + name))
                try bytes.write(to: URL(fileURLWithPath: place.path + "/" + name), options: [])
            }
        } else {
            try FileManager.default.removeItem(atPath: place.path)
            try FileManager.default.copyItem(atPath: copy.path, toPath: place.path)
        }
        store = try place.open()
        #expect(try store.lastSequence() == 1)
        let next = try Self.write(store)
        #expect(next.actor != first.actor)
        #expect(next.incarnations.count == 2)
    }

    @Test("are new in a backup, but the same in the store it was taken of")
    func newInBackup() throws {
        let place = TemporaryStore("actor")
        let store = try place.open()
        let first = try Self.write(store)
        try store.backup(to: place.directory + "/backup.docdb")
        let backup = try Self.write(Store(path: place.directory + "/backup.docdb"))
        #expect(backup.actor != first.actor)
        #expect(backup.incarnations.count == 2)
        #expect(try Self.write(store).actor == first.actor)
    }

    @Test("after a kill: the actor stays, the incarnation is new and says where the last one ended")
    func afterKill() async throws {
        let place = TemporaryStore("actor")
        var store = try place.open()
        let first = try Self.write(store)
        try store.close()
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = place.path as String] in
            let store = try Store(path: path)
            _ = try ActorTests.write(store)
            _ = try ActorTests.write(store)
            kill(getpid(), SIGKILL)
        }
        store = try place.open()
        let next = try Self.write(store)
        #expect(next.actor == first.actor)
        #expect(next.incarnations.count == 2)
        #expect(next.incarnations.first == Incarnation(id: first.incarnations[0].id, lastSequence: 3))
        #expect(next.incarnations.last?.lastSequence == nil)
    }

    enum Harm: CaseIterable { case removed, emptied, shortened, garbled, prolonged }

    @Test("are new where the incarnation file was harmed", arguments: Harm.allCases, [1, 2])
    func newWhenFileHarmed(harm: Harm, sessionCount: Int) throws {
        let place = TemporaryStore("actor")
        var store = try place.open()
        var first = try Self.write(store)
        for _ in 1..<sessionCount {
            try store.close()
            store = try place.open()
            first = try Self.write(store)
        }
        try store.close()
        let file = URL(fileURLWithPath: place.incarnationFile)
        let bytes = try Data(contentsOf: file)
        switch harm {
        case .removed: try FileManager.default.removeItem(at: file)
        case .emptied: try Data().write(to: file, options: [])
        case .shortened: try bytes.dropLast().write(to: file, options: [])
        case .garbled: try Data(bytes.map { $0 ^ 1 }).write(to: file, options: [])
        case .prolonged: try (bytes + bytes).write(to: file, options: [])
        }
        store = try place.open()
        let next = try Self.write(store)
        #expect(next.actor != first.actor)
        #expect(next.incarnations.count == 2)
        try store.close()
        store = try place.open()
        #expect(try Self.write(store).actor == next.actor)
        #expect(try store.verify().isEmpty)
    }

    @Test("never repeat over many copies and openings")
    func neverRepeat() throws {
        let place = TemporaryStore("actor")
        let store = try place.open()
        var actors: Set<ActorID> = [try #require(try Self.write(store).actor)]
        try store.close()
        var copies = [place]
        for _ in 0..<8 {
            let copy = try copies[copies.count / 2].copy()
            copies.append(copy)
            let next = try #require(try Self.write(copy.open()).actor)
            #expect(actors.insert(next).inserted)
        }
    }
}
