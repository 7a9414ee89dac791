internal import Glibc

extension ServerRig {
    /// The end of BIND's log as it is now.
    public func bindLogMark() -> LogMark { queries.end }

    /// The questions that BIND was asked since `mark`, in its own words: `... (img.shop.test): query: img.shop.test IN A ...`.
    public func bindQueryLog(since mark: LogMark = .beginning) throws -> [String] {
        try queries.lines(since: mark).filter { $0.contains(": query: ") }.map(String.init)
    }

    /// How often BIND was asked for `name` since `mark`; with `type`, such as `AAAA`, for that type only.
    public func queryCount(of name: String, type: String? = nil, since mark: LogMark = .beginning) throws -> Int {
        let question = ": query: \(name) IN \(type.map { $0 + " " } ?? "")"
        return try bindQueryLog(since: mark).filter { $0.contains(question) }.count
    }

    /// Waits until BIND has logged `count` lines with `text` in them.
    /// - Throws: ``RigError`` with the end of the log, after `limit`.
    @discardableResult
    public func awaitBindLog(
        contains text: String,
        count: Int = 1,
        since mark: LogMark = .beginning,
        within limit: Duration = .seconds(60)
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

    /// Puts `values` in place of the records of one type at a name below `test` (`nsupdate`, RFC 2136). It holds when
    /// this returns. No values removes them.
    /// - Throws: ``RigError`` with what nsupdate said.
    public func setRecords(_ name: String, timeToLive: Int = 5, type: String = "A", _ values: [String]) async throws {
        let changes =
            ["update delete \(name). \(type)"] + values.map { "update add \(name). \(timeToLive) \(type) \($0)" }
        try await update(changes)
    }

    /// Adds records to those that a name has. One call carries as many as a DNS message holds, some 1,500.
    /// - Throws: ``RigError`` with what nsupdate said.
    public func addRecords(_ name: String, timeToLive: Int = 5, type: String = "A", _ values: [String]) async throws {
        try await update(values.map { "update add \(name). \(timeToLive) \(type) \($0)" })
    }

    /// Removes all records of a name.
    /// - Throws: ``RigError`` with what nsupdate said.
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

    /// Stops BIND where it is (SIGSTOP): connections are still accepted by the kernel, nothing is answered.
    public func holdBind() { kill(bindProcess, SIGSTOP) }

    /// Lets BIND go on.
    public func resumeBind() { kill(bindProcess, SIGCONT) }

    /// Stops the origins where they are (SIGSTOP).
    public func holdOrigins() { kill(nginxProcess, SIGSTOP) }

    /// Lets the origins go on.
    public func resumeOrigins() { kill(nginxProcess, SIGCONT) }
}
