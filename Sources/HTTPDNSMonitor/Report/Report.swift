// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

extension HTTPDNSTrafficMonitor {
    /// Records as a web page for readers, in one file without a reference to another one and without a script.
    ///
    /// The page has the sums, the errors, the percentiles of hosts and routes, and the newest calls as a waterfall of hops and
    /// phases, with the source of each address, the header fields and the stored bodies. It is in light or dark colors as the
    /// reader's browser asks for.
    ///
    /// Values of servers and callers are text: none becomes markup, a link or a script. The page forbids its browser to load
    /// anything (`Content-Security-Policy`). A chunk has one call, so the memory does not depend on the number of calls.
    public struct Report: AsyncSequence, Sendable {
        /// A part of the text.
        public typealias Element = [UInt8]
        /// Writing into memory never fails.
        public typealias Failure = Never

        /// The default number of calls in the waterfall.
        public static let defaultMaximumCalls = 500

        fileprivate let records: [Record]
        fileprivate let counters: Counters?
        private let maximumCalls: Int

        /// Creates the report about some records.
        /// - Parameters:
        ///   - records: The records. Percentiles and errors are about all of them.
        ///   - counters: The sums of a monitor, which counts calls without a record too; nil for the sums of the records.
        ///   - maximumCalls: The most calls in the waterfall: the newest ones. The page has the number of the others.
        public init(_ records: [Record], counters: Counters? = nil, maximumCalls: Int = defaultMaximumCalls) {
            self.records = records
            self.counters = counters
            self.maximumCalls = Swift.max(0, maximumCalls)
        }

        /// An iterator over the chunks.
        public struct AsyncIterator: AsyncIteratorProtocol {
            fileprivate var chunks: ReportChunks

            /// Returns the next chunk; nil at the end.
            public mutating func next() async -> [UInt8]? { chunks.next() }

            /// Returns the next chunk, as ``next()`` does.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> [UInt8]? { chunks.next() }
        }

        /// Starts at the beginning.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: ReportChunks(self)) }

        /// Writes the page into a file, which only this user can read, as ``Archive/write(to:)`` does.
        /// - Throws: ``HTTPDNSTrafficMonitor/Error`` when the file cannot be written, or the system gives no thread; an
        ///   earlier file then stays. `CancellationError`: the file may still be written after it.
        public func write(to path: String) async throws {
            try await ExportFile.write("report", to: path, ReportChunks(self))
        }

        /// Returns the sums and the calls as text for a terminal, with block characters as bars.
        ///
        /// Control characters of servers and callers are escaped. The text has no colors.
        /// - Parameter width: The columns of the terminal. Sentences fold at it; tables do not.
        public func text(width: Int = 80) -> String {
            let text = TrafficText(TrafficText.Appearance(width: width, isColored: false, isUnicode: true))
            return text.summary(records, counters: counters) + text.waterfall(newest)
        }

        /// The newest calls up to the limit, the oldest of them first.
        fileprivate var newest: [Record] {
            records.sorted { ($0.startTime, $0.callID) < ($1.startTime, $1.callID) }.suffix(maximumCalls)
        }
    }

    /// The records in memory as a web page, with the counters.
    public var report: Report { Report(records, counters: counters) }

    /// Writes the records in memory as a web page, see ``Report/write(to:)``.
    /// - Throws: ``HTTPDNSTrafficMonitor/Error`` when the file cannot be written; `CancellationError`.
    public func writeReport(to path: String) async throws { try await report.write(to: path) }
}

/// The chunks of a report.
struct ReportChunks: IteratorProtocol, Sendable {
    private enum State {
        case head, calls, ended
    }

    private let report: HTTPDNSTrafficMonitor.Report
    private var groups: ArraySlice<CallGroup> = []
    /// The number of calls of the first group that have been returned.
    private var returned = 0
    private var state = State.head

    init(_ report: HTTPDNSTrafficMonitor.Report) { self.report = report }

    mutating func next() -> [UInt8]? {
        switch state {
        case .head:
            state = .calls
            let newest = report.newest
            groups = CallGroup.groups(newest)[...]
            let page = ReportPage(TrafficSummary(report.records, counters: report.counters), drawn: newest.count)
            return Array(page.beginning.text.utf8)
        case .calls:
            guard let group = groups.first else {
                state = .ended
                return Array(ReportPage.end.text.utf8)
            }
            return Array(nextCall(of: group).text.utf8)
        case .ended:
            return nil
        }
    }

    private mutating func nextCall(of group: CallGroup) -> HTML {
        var html = returned == 0 ? ReportCall.beginning(of: group) : ""
        html += ReportCall(group.records[returned], in: group).html
        returned += 1
        if returned == group.records.count {
            html += ReportCall.groupEnd
            groups.removeFirst()
            returned = 0
        }
        return html
    }
}
