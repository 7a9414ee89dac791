// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

extension ServerRig {
    /// Returns the current end of BIND's log.
    public func bindLogMark() -> LogMark { queries.end }

    /// Returns BIND's log lines of queries since `mark`: `... (img.shop.test): query: img.shop.test IN A ...`.
    public func bindQueryLog(since mark: LogMark = .beginning) throws -> [String] {
        try queries.lines(since: mark).filter { $0.contains(": query: ") }.map(String.init)
    }

    /// Returns the number of queries to BIND for `name` since `mark`; with `type`, such as `AAAA`, for that type only.
    public func queryCount(of name: String, type: String? = nil, since mark: LogMark = .beginning) throws -> Int {
        let question = ": query: \(name) IN \(type.map { $0 + " " } ?? "")"
        // Queries may have a case of their own.
        return try bindQueryLog(since: mark).count { $0.lowercased().contains(question.lowercased()) }
    }

    /// Waits until BIND has logged `count` lines with `text` in them.
    /// - Throws: ``RigError`` with the end of the log, after `limit`.
    @discardableResult
    public func awaitBindLog(
        contains text: String,
        count: Int = 1,
        since mark: LogMark = .beginning,
        within limit: Duration = .seconds(120)
    ) async throws -> [String] {
        let found = try await watch(queries.path, within: limit) { [queries] () -> [String]? in
            let lines = try queries.lines(since: mark).filter { $0.contains(text) }
            return lines.count >= count ? lines.map(String.init) : nil
        }
        if let found { return found }
        throw RigError(
            "BIND did not log \(count) x \"\(text)\" within \(limit); its log ends with\n" + queries.tail(10)
        )
    }

    /// Replaces the records of one type at a name below `test` with `values` (`nsupdate`, RFC 2136). The change is in effect on
    /// return. No values remove the records.
    /// - Throws: ``RigError`` with nsupdate's output.
    public func setRecords(_ name: String, timeToLive: Int = 5, type: String = "A", _ values: [String]) async throws {
        let changes =
            ["update delete \(name). \(type)"] + values.map { "update add \(name). \(timeToLive) \(type) \($0)" }
        try await update(changes)
    }

    /// Adds records to those of a name. One call can carry as many as fit into a DNS message, about 1,500.
    /// - Throws: ``RigError`` with nsupdate's output.
    public func addRecords(_ name: String, timeToLive: Int = 5, type: String = "A", _ values: [String]) async throws {
        try await update(values.map { "update add \(name). \(timeToLive) \(type) \($0)" })
    }

    /// Removes all records of a name.
    /// - Throws: ``RigError`` with nsupdate's output.
    public func removeRecords(_ name: String) async throws {
        try await update(["update delete \(name)."])
    }

    private func update(_ changes: [String]) async throws {
        let script = (["server 127.0.0.1 \(dnsPort)", "zone test."] + changes + ["send", ""]).joined(separator: "\n")
        let result = try await Command("nsupdate", ["-v"], input: script).run(within: .seconds(60))
        guard result.status == 0, result.error.isEmpty else {
            throw RigError("nsupdate failed (\(result.status)) for \(changes): \(result.output)\(result.error)")
        }
    }

    /// Stops BIND (SIGSTOP): the kernel still accepts connections, but nothing is answered. All of it has stopped on return.
    public func holdBind() { hold(bindProcess) }

    /// Continues BIND.
    public func resumeBind() { kill(bindProcess, SIGCONT) }

    /// Stops the origins (SIGSTOP), which have stopped on return.
    public func holdOrigins() { hold(nginxProcess) }

    /// Continues the origins.
    public func resumeOrigins() { kill(nginxProcess, SIGCONT) }

    /// The signal takes effect when a thread of the process gets a processor: on a busy machine others go on until then. The
    /// kernel reports the stop to the parent of the process alone, which is another one.
    private func hold(_ process: Int32) {
        kill(process, SIGSTOP)
        while !ProcessState.isStopped(process) { usleep(1_000) }
    }
}
