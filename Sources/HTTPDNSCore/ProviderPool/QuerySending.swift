/// The sending of a query to a provider, for metrics.
struct QuerySending: Sendable, Equatable {
    var provider: String
    /// Whether it is sent because an earlier provider has not answered.
    var isHedge: Bool
    /// Whether it is sent to check whether the provider has recovered.
    var isProbe: Bool
}
