/// Where a task goes on when it is resumed.
enum CallerPlace {
    /// On whichever thread the runtime has for it.
    case anyThread
    /// On an actor's executor, or on one that it prefers: it need not, as a rule, wait for a thread of the runtime's, which may all
    /// be taken. (A default actor's executor uses those threads too.)
    case ofItsOwn

    /// - Parameter actor: The caller's isolation.
    static func current(_ actor: (any Actor)?) -> CallerPlace {
        if actor != nil { return .ofItsOwn }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor } == nil ? .anyThread : .ofItsOwn
    }
}
