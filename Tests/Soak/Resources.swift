import Foundation

/// The memory and the open files of processes, as they go on.
struct ResourceLog {
    struct Sample {
        /// Seconds since the beginning.
        var time: Double
        var residentKibibytes: Int
        var openFileCount: Int
    }

    /// One process, from its start to its end.
    struct Run {
        var name: String
        var samples: [Sample] = []

        var seconds: Double { (samples.last?.time ?? 0) - (samples.first?.time ?? 0) }
    }

    private(set) var runs: [Run] = []
    private var indexes: [Int32: Int] = [:]

    mutating func begin(_ name: String, _ process: Int32) {
        indexes[process] = runs.count
        runs.append(Run(name: name))
    }

    mutating func end(_ process: Int32) { indexes[process] = nil }

    mutating func sample(at time: Double) {
        for (process, index) in indexes {
            guard let resident = Self.residentKibibytes(process), let files = Self.openFileCount(process) else {
                continue
            }
            runs[index].samples.append(Sample(time: time, residentKibibytes: resident, openFileCount: files))
        }
    }

    func last(of process: Int32) -> Sample? { indexes[process].flatMap { runs[$0].samples.last } }

    /// What a process holds in memory; nil where the system does not tell.
    static func residentKibibytes(_ process: Int32) -> Int? {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8),
            let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmRSS:") })
        else { return nil }
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    static func openFileCount(_ process: Int32) -> Int? {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd"))?.count
    }
}

extension ResourceLog.Run {
    /// How much one figure of the process has grown from the middle third of its life to the last, and per hour.
    struct Growth {
        var middle: Double
        var last: Double
        var perHour: Double
        var greatest: Int
    }

    func growth(_ figure: (ResourceLog.Sample) -> Int) -> Growth {
        let values = samples.map { (time: $0.time, value: Double(figure($0))) }
        let third = values.count / 3
        let (middle, last) = (values[third..<(2 * third)], values[(2 * third)...])
        func mean(_ part: ArraySlice<(time: Double, value: Double)>) -> Double {
            part.isEmpty ? 0 : part.reduce(0) { $0 + $1.value } / Double(part.count)
        }
        // The slope of the line of least squares through all but the first third, in which caches fill.
        let rest = values[third...]
        let meanTime = rest.reduce(0) { $0 + $1.time } / Double(max(rest.count, 1))
        let meanValue = mean(rest)
        var (products, squares) = (0.0, 0.0)
        for (time, value) in rest {
            products += (time - meanTime) * (value - meanValue)
            squares += (time - meanTime) * (time - meanTime)
        }
        return Growth(
            middle: mean(middle), last: mean(last), perHour: squares > 0 ? products / squares * 3_600 : 0,
            greatest: samples.map(figure).max() ?? 0)
    }
}
