import DocDB
import DocDBStorage

extension Commands {
    /// Salvages a damaged store, and prints what was written and what is lost.
    static func salvage(_ command: ParsedCommand, _ console: Console) throws -> Int32 {
        let report = try StoreSalvage.run(from: command.operands[0], to: command.operands[1])
        for collection in report.collections {
            try console.output.write(summary(of: collection) + "\n")
            for id in collection.lostIDs {
                try console.output.write("  lost: \(try JSONText.text(of: id.value))\n")
            }
            let unlisted = collection.lostCount - Int64(collection.lostIDs.count)
            if unlisted > 0, !collection.lostIDs.isEmpty {
                try console.output.write("  and \(Figures.grouped(Int(unlisted))) more\n")
            }
        }
        for remark in report.remarks { try console.output.write(remark + "\n") }
        for loss in report.losses { try console.output.write("lost: " + loss + "\n") }
        guard report.isLossless else {
            try? console.error.write(
                "\(Inspector.toolName): not everything could be read; what peers hold of the rest comes back when the new "
                    + "store meets them\n")
            return Inspector.ExitCode.failed
        }
        return Inspector.ExitCode.done
    }

    private static func summary(of collection: SalvageReport.Collection) -> String {
        var text =
            "\(TableWriter.printable(collection.name)): \(Figures.counted(Int(collection.documentCount), "document"))"
        if collection.tombstoneCount > 0 { text += ", \(Figures.grouped(Int(collection.tombstoneCount))) deleted" }
        if collection.lostCount > 0 { text += "; \(Figures.grouped(Int(collection.lostCount))) lost" }
        if collection.mayMissMore { text += "; an unknown number may be missing" }
        return text
    }
}
