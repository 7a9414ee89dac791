/// The call's deadline passed before its body was ready to be sent.
struct BodyOverdue: Error, Hashable {
    /// What was being done, such as "the request's body was compressed".
    let work: String

    init(while work: String) { self.work = work }
}

extension HTTPDNSClientError {
    /// Nothing of this hop was sent.
    init(_ overdue: BodyOverdue, on hop: HopRecord) {
        self.init(
            code: .timedOut,
            stage: .request,
            message: "the request to \(hop.origin) was not sent: the call's deadline passed while \(overdue.work)",
            host: hop.host,
            hint: "options.deadline bounds it for one call, timeouts.total for all"
        )
        elapsed = hop.time.elapsed
        limit = hop.time.limit
        isCallDeadline = true
    }
}
