// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

extension ServerRig {
    /// Returns the current end of the origins' log. A line is written after its response, so one may still be missing.
    public func accessLogMark() -> LogMark { requests.end }

    /// Returns every request that the origins have logged since `mark`.
    public func accessLog(since mark: LogMark = .beginning) throws -> [AccessLogLine] {
        let decoder = JSONDecoder()
        return try requests.lines(since: mark).map { line in
            do {
                return try decoder.decode(AccessLogLine.self, from: Data(line.utf8))
            } catch {
                throw RigError("cannot read the origins' log line \(line): \(error)")
            }
        }
    }

    /// Waits until the origins have logged `count` requests that `matches` accepts: a line is written after its response.
    /// - Returns: All matching requests.
    /// - Throws: ``RigError`` with the actual log, after `limit`.
    @discardableResult
    public func awaitAccessLog(
        since mark: LogMark = .beginning,
        count: Int = 1,
        within limit: Duration = .seconds(120),
        where matches: @escaping @Sendable (AccessLogLine) -> Bool
    ) async throws -> [AccessLogLine] {
        let found = try await watch(requests.path, within: limit) { [self] () -> [AccessLogLine]? in
            let lines = try accessLog(since: mark).filter(matches)
            return lines.count >= count ? lines : nil
        }
        if let found { return found }
        let matching = try accessLog(since: mark).filter(matches).count
        throw RigError(
            "the origins logged \(matching) of \(count) expected requests within \(limit); the log ends with\n"
                + requests.tail(10)
        )
    }

    /// Returns the log of nginx's errors, such as refused handshakes.
    public func originErrorLog() throws -> String { try origins.lines(since: .beginning).joined(separator: "\n") }
}
