/// The error for a deadline that passed before the request body was ready to be sent.
struct BodyOverdue: Error, Hashable {
    /// The work in progress, such as "the request's body was compressed".
    let work: String

    init(while work: String) { self.work = work }
}

extension HTTPDNSClientError {
    /// Creates the error of a hop of which nothing was sent.
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
