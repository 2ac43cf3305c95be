package exports

import (
	"context"
	"errors"
)

// Making is something that a platform makes twice when asked twice: it knows no client token.
type Making struct {
	LedgerID string
	// Find asks the platform for it; "" where it shows none.
	Find func() (id string, err error)
	// Holds says whether what the ledger knows is still there and as it should be; nil trusts the ledger.
	Holds func(id string) (bool, error)
	// Create makes it. An error that wraps ErrUncertain says that it may have been made.
	Create func() (id string, err error)
}

// Ensure makes m unless it is there. Each call that makes something stands between two lines of the ledger; where its answer is
// lost, or the process died, the platform is asked, and given time to show what it has, before the call is made again.
func (b *Outbox) Ensure(ctx context.Context, m Making) (id, state string, err error) {
	if id, ok := b.Ledger.Done(m.LedgerID); ok {
		if m.Holds == nil {
			return id, Unchanged, nil
		}
		if there, err := m.Holds(id); there || err != nil {
			return id, Unchanged, err
		}
	}
	begun, _ := b.Ledger.Pending(m.LedgerID)
	lost, state := len(begun) > 0, Unchanged
	err = b.Retry(ctx, func() error {
		var err error
		if id, err = m.Find(); err == nil && id == "" && lost {
			id, err = b.findLate(ctx, m.Find)
		}
		if err != nil {
			return err
		}
		if id != "" {
			if lost {
				state = Created
			}
			return nil
		}
		state = Created
		if id, err = b.createOnce(ctx, m); errors.Is(err, ErrUncertain) {
			lost = true
			return &Retryable{Err: err}
		}
		return err
	})
	if err == nil && !b.DryRun {
		err = b.Ledger.Finish(m.LedgerID, id, nil)
	}
	return id, state, err
}

// findLate asks until found or until the platform had time to show what it has.
func (b *Outbox) findLate(ctx context.Context, find func() (string, error)) (id string, err error) {
	pollErr := b.Poll(ctx, b.SettleTime(), func() (bool, error) {
		id, err = find()
		return id != "", err
	})
	if errors.Is(pollErr, context.DeadlineExceeded) && ctx.Err() == nil {
		return "", nil
	}
	return id, pollErr
}

func (b *Outbox) createOnce(ctx context.Context, m Making) (string, error) {
	if b.DryRun {
		return m.Create()
	}
	if err := b.Ledger.Begin(m.LedgerID, "", nil); err != nil {
		return "", err
	}
	id, err := m.Create()
	switch {
	case err == nil && id == "": // made, and nobody can say what
		return "", errors.New("the answer names no id")
	case err != nil && ctx.Err() == nil && !errors.Is(err, ErrUncertain): // refused, so there is nothing to look up
		return "", errors.Join(err, b.Ledger.Drop(m.LedgerID))
	}
	return id, err
}
