/// The errors of Tencent's HTTPDNS. It has no codes of its own: the status says it all, and 200 is also a name that was not
/// found.
struct TencentErrors: Sendable {
    static let words = ServiceWords(
        service: "Tencent HTTPDNS service",
        answer: "answer of Tencent HTTPDNS",
        mediaType: "text/plain",
        methodAdvice: "check that the url is that of Tencent HTTPDNS"
    )

    private let table: VendorErrorTable

    /// - Parameter accountRefusals: The statuses that refuse the account for good. The vendor documents none.
    init(accountRefusals: Set<Int>) {
        // What 401 and 403 are for is not documented either. Where the clock of this machine is wrong, it may be that.
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

    /// The refusal that a reply is, by its status.
    func refusal(in reply: ServiceReply) -> VendorRefusal? {
        let code = Self.code(reply.status)
        return table.refusal(code: table.rows[code] == nil ? nil : code, in: reply)
    }

    private static func code(_ status: Int) -> String { "HTTP \(status)" }
}
