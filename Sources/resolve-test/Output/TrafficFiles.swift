// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSMonitor

/// The files of `--har` and `--report`, which are private and complete or absent.
struct TrafficFiles: Sendable {
    /// The most bytes of a body in the files.
    static let bodyLimit = HTTPDNSByteCount.kibibytes(64)

    private let archive: BodyDestination?
    private let report: BodyDestination?

    var isWanted: Bool { archive != nil || report != nil }

    /// - Parameters:
    ///   - archivePath: The value of `--har`.
    ///   - reportPath: The value of `--report`.
    ///   - body: The destination of the body, which is another file.
    /// - Throws: A failure when a file cannot be created, before any request is sent.
    init(archivePath: String?, reportPath: String?, body: BodyDestination) throws(CommandFailure) {
        archive = try Self.open("--har", archivePath, others: [body])
        report = try Self.open("--report", reportPath, others: [body, archive].compactMap(\.self))
    }

    private static func open(_ option: String, _ path: String?, others: [BodyDestination]) throws(CommandFailure)
        -> BodyDestination?
    {
        guard let path else { return nil }
        guard path != "-" else { throw .usage("\(option) - is not possible", hint: "give \(option) FILE") }
        let destination = try BodyDestination(path: path, of: option)
        if let path = destination.path, others.contains(where: { $0.path == path }) {
            throw .usage("\(option) \(path) is the file of another option too", hint: "give each option its own file")
        }
        return destination
    }

    func write(_ records: [HTTPDNSTrafficMonitor.Record]) async throws(CommandFailure) {
        if let archive {
            for await chunk in HTTPDNSTrafficMonitor.Archive(records) { try archive.write(chunk) }
            try archive.finish()
        }
        if let report {
            for await chunk in HTTPDNSTrafficMonitor.Report(records) { try report.write(chunk) }
            try report.finish()
        }
    }
}

extension TrafficText {
    init(_ screen: Screen) {
        self.init(Appearance(width: screen.width, isColored: screen.style.isColoured, isUnicode: screen.isUnicode))
    }
}
#endif
