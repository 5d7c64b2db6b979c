/// Reads metrics by the rules of Prometheus's text format 0.0.4, and more strictly than Prometheus itself: help and type
/// come before the samples of a family, which stand together; nothing is there twice; counters and histograms are whole.
enum MetricsParser {
    struct Sample {
        var name: String
        var labels: [String: String]
        var value: Double
    }

    struct Family {
        var type: String
        var samples: [Sample] = []
    }

    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    static func families(_ text: String) throws -> [String: Family] {
        guard text.hasSuffix("\n"), !text.contains("\r") else { throw Failure(description: "lines end in a line feed") }
        var families: [String: Family] = [:]
        var current: String?
        var help: String?
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            func fail(_ problem: String) -> Failure { Failure(description: "\(problem): \(line)") }
            if line.hasPrefix("#") {
                let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map(String.init)
                guard words.count == 4, isName(words[2], colons: true) else { throw fail("no comment of a family") }
                if words[1] == "HELP" {
                    guard help == nil, families[words[2]] == nil, !words[3].isEmpty else { throw fail("a second help") }
                    help = words[2]
                } else if words[1] == "TYPE" {
                    guard help == words[2], ["counter", "gauge", "histogram"].contains(words[3]) else {
                        throw fail("a type without help, or unknown")
                    }
                    guard words[3] != "counter" || words[2].hasSuffix("_total") else { throw fail("a counter's name") }
                    families[words[2]] = Family(type: words[3])
                    current = words[2]
                    help = nil
                } else {
                    throw fail("neither help nor type")
                }
                continue
            }
            guard help == nil, let name = current, let family = families[name] else { throw fail("no family") }
            let sample = try sample(line)
            let suffixes = family.type == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
            guard suffixes.contains(where: { sample.name == name + $0 }) else { throw fail("another family's sample") }
            guard !family.samples.contains(where: { $0.name == sample.name && $0.labels == sample.labels }) else {
                throw fail("a series that was there")
            }
            if family.type == "counter", sample.value < 0 { throw fail("a negative counter") }
            families[name]?.samples.append(sample)
        }
        for (name, family) in families where family.type == "histogram" { try checkHistogram(name, family) }
        return families
    }

    private static func checkHistogram(_ name: String, _ family: Family) throws {
        let buckets = family.samples.filter { $0.name == name + "_bucket" }
        let bounds = try buckets.map { bucket in
            guard bucket.labels.count == 1, let text = bucket.labels["le"], let bound = number(text) else {
                throw Failure(description: "\(name): a bucket without bound")
            }
            return bound
        }
        let counts = buckets.map(\.value)
        guard bounds == bounds.sorted(), Set(bounds).count == bounds.count, bounds.last == .infinity,
            counts == counts.sorted()
        else { throw Failure(description: "\(name): buckets are not cumulative, or do not end in +Inf") }
        guard family.samples.first(where: { $0.name == name + "_count" })?.value == counts.last,
            family.samples.contains(where: { $0.name == name + "_sum" })
        else { throw Failure(description: "\(name): count or sum") }
    }

    private static func sample(_ line: Substring) throws -> Sample {
        func fail() -> Failure { Failure(description: "no sample: \(line)") }
        let nameEnd = line.firstIndex { $0 == "{" || $0 == " " } ?? line.endIndex
        let name = String(line[..<nameEnd])
        guard isName(name, colons: true) else { throw fail() }
        var rest = line[nameEnd...]
        var labels: [String: String] = [:]
        if rest.first == "{" {
            rest = rest.dropFirst()
            while true {
                guard let equals = rest.firstIndex(of: "="), isName(String(rest[..<equals]), colons: false) else {
                    throw fail()
                }
                let label = String(rest[..<equals])
                rest = rest[equals...].dropFirst()
                guard rest.first == "\"" else { throw fail() }
                rest = rest.dropFirst()
                guard let end = rest.firstIndex(of: "\"") else { throw fail() }
                // Nothing that would need escaping is told.
                guard !rest[..<end].contains("\\"), labels.updateValue(String(rest[..<end]), forKey: label) == nil
                else {
                    throw fail()
                }
                rest = rest[end...].dropFirst()
                guard let next = rest.popFirst() else { throw fail() }
                if next == "}" { break }
                guard next == "," else { throw fail() }
            }
        }
        guard rest.first == " ", let value = number(String(rest.dropFirst())), value.isFinite else { throw fail() }
        return Sample(name: name, labels: labels, value: value)
    }

    /// A number as Go reads it: decimal, with an exponent or not.
    private static func number(_ text: String) -> Double? {
        if text == "+Inf" { return .infinity }
        guard text.allSatisfy({ $0.isASCII && ($0.isNumber || "+-.e".contains($0)) }) else { return nil }
        return Double(text)
    }

    private static func isName(_ text: String, colons: Bool) -> Bool {
        guard let first = text.first, !first.isNumber else { return false }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || colons && $0 == ":") }
    }
}
