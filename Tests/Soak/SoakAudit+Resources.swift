// Memory and files of the processes that lived long enough to tell.
extension SoakAudit {
    /// The shortest life that growth is told from, as part of the whole.
    private static let leastPart = 0.4
    private static let leastSampleCount = 30
    /// How much the last third may have beyond the middle one.
    private static let grownKibibytes = 24.0 * 1024
    private static let grownFileCount = 8.0
    private static let openFileLimit = 200

    /// Checks that long-lived processes do not grow, and returns a line on each.
    func checkResources() throws -> [String] {
        var lines: [String] = []
        let runs = run.resources.runs.filter {
            $0.samples.count >= Self.leastSampleCount && $0.seconds >= Self.leastPart * run.minutes * 60
        }
        for process in runs {
            let memory = process.growth(\.residentKibibytes)
            let files = process.growth(\.openFileCount)
            lines.append(
                """
                \(process.name) for \(Int(process.seconds)) s: memory \(Int(memory.middle / 1024)) MiB, \
                then \(Int(memory.last / 1024)) MiB, \(Int(memory.perHour / 1024)) MiB an hour, at most \
                \(memory.greatest / 1024) MiB; files \(Int(files.middle)), then \(Int(files.last)), at most \
                \(files.greatest)
                """)
            guard memory.last - memory.middle <= Self.grownKibibytes else {
                throw SoakFailure("the memory of \(process.name) grows: \(lines.last ?? "")")
            }
            guard files.last - files.middle <= Self.grownFileCount else {
                throw SoakFailure("the open files of \(process.name) grow: \(lines.last ?? "")")
            }
        }
        for process in run.resources.runs {
            guard let most = process.samples.map(\.openFileCount).max(), most > Self.openFileLimit else { continue }
            throw SoakFailure("\(process.name) had \(most) files open")
        }
        return lines
    }
}
