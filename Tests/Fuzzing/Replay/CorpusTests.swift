import Foundation
import FuzzTargets
import Testing

/// Gives every input that fuzzing found worth keeping to the code it was found with, crashes of the past first of all.
@Suite("Corpora of fuzzing")
struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Corpora")

    /// The inputs under `Tests/Corpora`: of a target those that reach its code, and those that broke it once.
    private static func inputs(of target: FuzzTarget) throws -> [URL] {
        try [target.name, "\(target.name)-regressions"].flatMap { name -> [URL] in
            let folder = Self.folder.appending(path: name)
            guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
            return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .sorted { $0.path < $1.path }
        }
    }

    @Test("every kept input does no harm", arguments: FuzzTarget.all.map(\.name))
    func replay(_ name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let inputs = try Self.inputs(of: target)
        #expect(!inputs.isEmpty, "there is no corpus of the target; run make fuzz TARGET=\(name)")
        for input in inputs {
            let bytes = [UInt8](try Data(contentsOf: input))
            #expect(throws: Never.self, "\(name)/\(input.lastPathComponent)") { try target.run(bytes) }
        }
    }

    @Test("every seed does no harm", arguments: FuzzTarget.all.map(\.name))
    func seeds(_ name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let seeds = try target.seeds()
        #expect(!seeds.isEmpty)
        for (index, seed) in seeds.enumerated() {
            #expect(throws: Never.self, "\(name), seed \(index)") { try target.run(seed) }
        }
    }

    @Test("inputs cut short and changed at one place do no harm", arguments: FuzzTarget.all.map(\.name))
    func changes(_ name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        var number: UInt64 = 1
        for seed in try target.seeds().prefix(4) {
            for _ in 0..<12 where !seed.isEmpty {
                number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                var changed = seed
                let place = Int(number >> 33) % seed.count
                if number >> 62 == 0 {
                    changed.removeSubrange(place...)
                } else {
                    changed[place] = UInt8(number >> 24 & 255)
                }
                #expect(throws: Never.self, "\(name): \(changed)") { try target.run(changed) }
            }
        }
    }
}
