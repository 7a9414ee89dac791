/// The errors of Tencent's HTTPDNS. The service has no codes of its own: only the status distinguishes them, and 200 also
/// covers a name that was not found.
struct TencentErrors: Sendable {
    static let words = VendorVocabulary(
        service: "Tencent HTTPDNS service",
        answer: "answer of Tencent HTTPDNS",
        mediaType: "text/plain",
        methodAdvice: "check that the url is that of Tencent HTTPDNS"
    )

    private let table: VendorErrorTable

    /// - Parameter accountRefusals: The statuses that permanently refuse the account. The vendor documents none.
    init(accountRefusals: Set<Int>) {
        // The meaning of 401 and 403 is not documented either. They may be due to a wrong clock of this machine.
        let notAllowed = VendorErrorTable.Row(
            .clock,
            "the service does not let this account ask; check the account, its token or key, and the clock of this machine"
        )
        let refused = VendorErrorTable.Row(.account, "the account is refused; check its number, and its token or key")
        var rows = ["HTTP 401": notAllowed, "HTTP 403": notAllowed]
        rows["HTTP 501"] = .init(
            .question,
            "the service does not take GET; check that the url is that of Tencent HTTPDNS"
        )
        for status in accountRefusals { rows[Self.code(status)] = refused }
        table = VendorErrorTable(rows: rows, words: Self.words)
    }

    /// Returns the refusal in a reply, by its status.
    func refusal(in reply: UpstreamReply) -> VendorRefusal? {
        let code = Self.code(reply.status)
        return table.refusal(code: table.rows[code] == nil ? nil : code, in: reply)
    }

    private static func code(_ status: Int) -> String { "HTTP \(status)" }
}
